# check: prefix[1](x=ones(32,f32), N=32)
import triton
import triton.language as tl


@triton.jit
def prefix(x, N: tl.constexpr):
    i = tl.arange(0, N)
    step = 1
    while step < N:
        left = tl.load(x + i - step, mask=i >= step, other=0.0)
        here = tl.load(x + i)
        tl.debug_barrier()
        tl.store(x + i, left + here)
        tl.debug_barrier()
        step *= 2
