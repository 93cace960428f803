# check: reverse[1](x=randn(32,f32), N=32)
# Everything is loaded before anything is stored.
import triton
import triton.language as tl


@triton.jit
def reverse(x, N: tl.constexpr):
    i = tl.arange(0, N)
    value = tl.load(x + N - 1 - i)
    tl.debug_barrier()
    tl.store(x + i, value)
