# check: mark[1](x=[1, 0, 3, 0]:f32, y=empty(4,f32), N=4)
# A NaN that the kernel writes down on purpose.
import triton
import triton.language as tl


@triton.jit
def mark(x, y, N: tl.constexpr):
    i = tl.arange(0, N)
    value = tl.load(x + i)
    tl.store(y + i, tl.where(value > 0, value, float("nan")))
