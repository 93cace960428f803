# nereid: compile %s:kernel --signature "*fp32" --emit tile
import triton
import triton.language as tl


@triton.jit
def kernel(p):
    x = tl.load(p + tl.arange(0, 8))
    tl.store(p, x[:, :, None])  # error: .:17 TileIndex `None` is at place 2 of the index, but the tile has rank 1
