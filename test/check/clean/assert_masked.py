# check: reciprocal[1](x=[1, 2, 0, 4]:f32, y=empty(4,f32), n=2, N=4)
# The assertion is about the first n elements only.
import triton
import triton.language as tl


@triton.jit
def reciprocal(x, y, n, N: tl.constexpr):
    i = tl.arange(0, N)
    value = tl.load(x + i)
    tl.device_assert((value != 0) | (i >= n), "zero divisor")
    tl.store(y + i, tl.where(i < n, 1 / value, 0.0))
