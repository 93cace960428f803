# nereid: compile %s:kernel --signature "*fp32" --emit tile
import triton
import triton.language as tl


@triton.jit
def twice(x):
    return x * 2


@triton.jit
def kernel(p):
    i = tl.arange(0, 8)
    tl.store(p + i, twice(tl.load(p + i), 1))  # error: .:21 TypeError `twice` takes 1 positional arguments, but 2 are given
