# nereid: compile %s:kernel --signature "*fp32" --emit tile
import triton
import triton.language as tl


@triton.jit
def kernel(p):
    x = tl.expand_dims(tl.load(p + tl.arange(0, 8)), 3)  # error: .:9 AxisOutOfRange
    tl.store(p, tl.sum(tl.sum(x, 0), 0))
