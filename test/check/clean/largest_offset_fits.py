# check: pick[1](x=randn(16,f32), y=empty(16,f32), base=2147483632, N=16)
# 2^31 - 1 is reached, and not passed.
import triton
import triton.language as tl


@triton.jit
def pick(x, y, base, N: tl.constexpr):
    i = base + tl.arange(0, N)
    tl.store(y + (i - base), tl.load(x + i - 2147483632))
