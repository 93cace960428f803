# nereid: compile %s:kernel --signature "*fp32" --emit tile
import triton
import triton.language as tl


@triton.jit
def kernel(p):
    i = tl.program_id(0)
    tl.store(p + i, p[i] + 1.0)  # error: .:21 TileIndex a pointer can't be indexed with a value
# hint: memory is read with `tl.load(pointer + index)`
