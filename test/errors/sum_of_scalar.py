# nereid: compile %s:kernel --signature "*fp32" --emit tile
import triton
import triton.language as tl


@triton.jit
def kernel(p):
    tl.store(p, tl.sum(tl.load(p)))  # error: . AxisOutOfRange `tl.sum` needs a tile, but got a scalar of type `fp32`
# hint: `pointer + tl.arange(0, N)` loads a tile
