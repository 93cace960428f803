# check: accumulate[4](x=randn(4x16,f32), out=zeros(16,f32), lock=zeros(1,i32), N=16)
# One thread opens the lock while others still store.
import triton
import triton.language as tl


@triton.jit
def accumulate(x, out, lock, N: tl.constexpr):
    i = tl.arange(0, N)
    value = tl.load(x + tl.program_id(0) * N + i)
    while tl.atomic_cas(lock, 0, 1) == 1:
        pass
    tl.store(out + i, tl.load(out + i) + value)
    tl.atomic_xchg(lock, 0)  # fault: . MissingBarrier
