# nereid: compile %s:kernel --signature "*fp32" --emit tile
import triton
import triton.language as tl


@triton.jit
def kernel(p):
    a, b = tl.load(p + tl.arange(0, 2))  # error: .:5 RuntimeIteration a tile can't be iterated over
    tl.store(p, a + b)
