# nereid: compile %s:kernel --signature "*fp32" --emit tile
import triton
import triton.language as tl


@triton.jit
def kernel(p):
    x = tl.load(p + tl.arange(0, 8))
    tl.store(p, x[0])  # error: .:17 TileIndex a tile can only be indexed with `:` and `None`
# hint: tl.gather
