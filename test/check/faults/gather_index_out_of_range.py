# check: take[1](x=randn(10,f32), index=[0, 9, 10, 3]:i32, out=empty(4,f32), N=4)
# Indices are used as they come; one equals the length.
import triton
import triton.language as tl


@triton.jit
def take(x, index, out, N: tl.constexpr):
    i = tl.arange(0, N)
    at = tl.load(index + i)
    tl.store(out + i, tl.load(x + at))  # fault: . OutOfBounds `x`
