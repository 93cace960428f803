# nereid: compile %s:kernel --signature "*fp32" --emit tile
import triton
import triton.language as tl


@triton.jit
def scale(x, factor):
    return x * factor


@triton.jit
def kernel(p):
    i = tl.arange(0, 8)
    tl.store(p + i, scale(tl.load(p + i), factr=2))  # error: .:21 TypeError `scale` has no parameter `factr`
