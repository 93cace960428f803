# nereid: compile %s:kernel --signature "*fp32" --emit tile
import triton
import triton.language as tl


@triton.jit
def kernel(p):
    i = tl.arange(0, 8)
    tl.store(p, sum(tl.load(p + i)))  # error: .:17 RuntimeIteration `sum` can't look into a tile
# hint: use `tl.sum(x, axis)`
