# nereid: compile %s:kernel --signature "*fp32" --emit tile
import triton
import triton.language as tl


@triton.jit
def kernel(p):
    x = tl.float32(tl.load(p))  # error: .:9 NotCallable a dtype can't be called
    tl.store(p, x)
# hint: tl.cast
