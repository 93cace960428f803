# check: shift[1](x=randn(32,f32), y=empty(32,f32), N=32)
# A pointer may point anywhere as long as nobody follows it.
import triton
import triton.language as tl


@triton.jit
def shift(x, y, N: tl.constexpr):
    i = tl.arange(0, N)
    before = x - 1000
    value = tl.load(before + i + 997, mask=i >= 3, other=0.0)
    tl.store(y + i, value)
