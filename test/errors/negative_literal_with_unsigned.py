# nereid: compile %s:kernel --signature "*u32" --emit tile
import triton
import triton.language as tl


@triton.jit
def kernel(p):
    i = tl.arange(0, 8)
    tl.store(p + i, tl.load(p + i) * -1)  # error: .:21 LiteralOutOfRange negative
