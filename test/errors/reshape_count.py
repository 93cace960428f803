# nereid: compile %s:kernel --signature "*fp32" --emit tile
import triton
import triton.language as tl


@triton.jit
def kernel(p):
    i = tl.arange(0, 8)
    x = tl.reshape(tl.load(p + i), [4, 4])  # error: .:9 ReshapeCount which has 8 elements
    tl.store(p, tl.sum(tl.sum(x, 0), 0))
