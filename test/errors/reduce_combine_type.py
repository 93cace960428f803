# nereid: compile %s:kernel --signature "*i32" --emit tile
import triton
import triton.language as tl


@triton.jit
def combine(a, b):
    return a / b


@triton.jit
def kernel(p):
    x = tl.load(p + tl.arange(0, 8))
    tl.store(p, tl.reduce(x, 0, combine))  # error: .:17 CombineResult
