# nereid: compile %s:kernel --signature "*fp32" --emit tile
import triton
import triton.language as tl


@triton.jit
def kernel(p):
    x = tl.load(p + tl.arange(0, 8))
    tl.store(p, tl.sum(x, axis=1))  # error: .:17 AxisOutOfRange axis 1 of
# hint: axes are -1 to 0
