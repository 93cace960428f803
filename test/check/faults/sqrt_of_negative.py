# check: distances[1](a=[1, 2, 3, 4]:f32, b=[1, 2, 3, 3]:f32, out=empty(4,f32), N=4)
# The cross term is subtracted three times instead of twice.
import triton
import triton.language as tl


@triton.jit
def distances(a, b, out, N: tl.constexpr):
    i = tl.arange(0, N)
    x = tl.load(a + i)
    y = tl.load(b + i)
    tl.store(out + i, tl.sqrt(x * x + y * y - 3 * x * y))  # fault: . NotANumber
