# nereid: compile %s:kernel --signature "*fp32" --emit tile
import triton
import triton.language as tl


@triton.jit
def pair(x):
    return x, x + 1


@triton.jit
def kernel(p):
    a, b, c = pair(tl.load(p))  # error: .:5 UnpackMismatch
    tl.store(p, a + b + c)
