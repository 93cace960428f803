# check: squares[1](x=full(16,300,f16), y=empty(16,f16), N=16)
# An overflow to infinity is no NaN.
import triton
import triton.language as tl


@triton.jit
def squares(x, y, N: tl.constexpr):
    i = tl.arange(0, N)
    value = tl.load(x + i)
    tl.store(y + i, value * value)
