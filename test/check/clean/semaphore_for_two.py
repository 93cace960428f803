# check: guarded[4](x=randn(4x8,f32), out=zeros(2x8,f32), locks=zeros(2,i32), N=8)
# Two locks, taken in one order by all.
import triton
import triton.language as tl


@triton.jit
def guarded(x, out, locks, N: tl.constexpr):
    i = tl.arange(0, N)
    value = tl.load(x + tl.program_id(0) * N + i)
    while tl.atomic_cas(locks, 0, 1) == 1:
        pass
    while tl.atomic_cas(locks + 1, 0, 1) == 1:
        pass
    tl.store(out + i, tl.load(out + i) + value)
    tl.store(out + N + i, tl.load(out + N + i) - value)
    tl.debug_barrier()
    tl.atomic_xchg(locks + 1, 0)
    tl.atomic_xchg(locks, 0)
