# nereid: compile %s:kernel --signature "*fp32" --emit tile
import triton
import triton.language as tl


@triton.jit
def kernel(p):
    i = tl.arange(0, 8)
    tl.store(p + i, tl.cumsum(tl.load(p + i), axis=2))  # error: .:21 AxisOutOfRange axis 2 of
