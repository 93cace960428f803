# nereid: compile %s:kernel --signature "*fp32" --emit tile
import triton
import triton.language as tl


@triton.jit
def halves(x):
    return tl.reshape(x, [2, 8])  # error: .:12 ReshapeCount has 8 elements, to


@triton.jit
def kernel(p):
    i = tl.arange(0, 8)
    tl.store(p, tl.sum(tl.sum(halves(tl.load(p + i)), 0), 0))
# The note says where the helper was called.
# note: 14:31 - in `halves`, called here
