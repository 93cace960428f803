# check: take[1](x=randn(16,f32), index=[3, 0, 16, 7]:i32, out=empty(4,f32), N=16, K=4)
# The index counts from one.
import triton
import triton.language as tl


@triton.jit
def take(x, index, out, N: tl.constexpr, K: tl.constexpr):
    value = tl.load(x + tl.arange(0, N))
    at = tl.load(index + tl.arange(0, K))
    tl.store(out + tl.arange(0, K), tl.gather(value, at, 0))  # fault: . GatherOutOfBounds
