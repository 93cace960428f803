# nereid: compile %s:kernel --signature "*fp32, *fp32" --emit tile
import triton
import triton.language as tl


@triton.jit
def kernel(p, q):
    i = tl.arange(0, 16)
    tl.store(p + i, q[i])  # error: .:21 TileIndex a pointer can't be indexed with a tile
# hint: `tl.load(pointer + index)`
