# nereid: compile %s:kernle --signature "*fp32" --emit tile
import triton
import triton.language as tl


@triton.jit
def kernel(p):
    tl.store(p, 0.0)
# error: - NoSuchKernel there is no kernel `kernle`
# hint: `kernel`
