# run: ref cpu gpu
# `round` takes halves away from zero in whole vectors of each type; a number just below a half stays below.
import triton
import triton.language as tl
from triton.language.extra import libdevice


@triton.jit
def whole(x, y, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(y + i, libdevice.round(tl.load(x + i)))

# expect: whole(x=[0.5, -0.5, 1.5, 2.5, -2.5, 0.49999997, -0.49999997, 8388607.5, 8388609, -8388607.5, 4194303.5, inf, -inf, nan, 0, 1e10]:f32, N=16)
#     -> y == [1, -1, 2, 3, -3, 0, -0.0, 8388608, 8388609, -8388608, 4194304, inf, -inf, nan, 0, 1e10]
# expect: whole(x=[0.5, -0.5, 1.5, -2.5, 0.49999999999999994, 4503599627370495.5, -4503599627370497, nan]:f64, y=zeros(8,f64), N=8)
#     -> y == [1, -1, 2, -3, 0, 4503599627370496, -4503599627370497, nan]


@triton.jit
def bytes_of(x, s, y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + i, mask=i < n, other=0.0).to(tl.float32)
    tl.store(y + i, libdevice.round(value / tl.load(s)).to(tl.int8), mask=i < n)

# expect: bytes_of[2](x=iota(100,f16), s=[2]:f32, y=zeros(100,i8), n=100, BLOCK=64) -> y:i8 == [(i + 1) // 2 for i in range(100)]
