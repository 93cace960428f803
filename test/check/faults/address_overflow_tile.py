# check: copy[1](x=randn(16x16,f32), y=empty(16x16,f32), stride=200000000, B=16)
# The product overflows in the later rows of the tile only.
import triton
import triton.language as tl


@triton.jit
def copy(x, y, stride, B: tl.constexpr):
    i = tl.arange(0, B)
    j = tl.arange(0, B)
    rows = i * stride  # fault: . AddressOverflow
    tile = tl.load(x + rows[:, None] + j[None, :])  # maybe: . OutOfBounds
    tl.store(y + i[:, None] * B + j[None, :], tile)
