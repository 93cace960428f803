# nereid: compile %s:kernle --signature "*fp32" --emit tile
import triton
import triton.language as tl


@triton.jit
def kernel(p):  # error: 1 NoSuchKernel `kernle`
    tl.store(p, 0.0)
# hint: kernel
