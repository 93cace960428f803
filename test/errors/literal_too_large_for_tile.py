# nereid: compile %s:kernel --signature "*i8" --emit tile
import triton
import triton.language as tl


@triton.jit
def kernel(p):
    i = tl.arange(0, 8)
    tl.store(p + i, tl.load(p + i) + 300)  # error: .:21 LiteralOutOfRange does not fit `int8`
# hint: .to(tl.int32)
