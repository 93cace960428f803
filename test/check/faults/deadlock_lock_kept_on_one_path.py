# check: accumulate[4](x=[1, 2, -3, 4]:f32, out=zeros(1,f32), lock=zeros(1,i32))
# The lock is released only where the value is positive.
import triton
import triton.language as tl


@triton.jit
def accumulate(x, out, lock):
    value = tl.load(x + tl.program_id(0))
    while tl.atomic_cas(lock, 0, 1) == 1:  # fault: . Deadlock
        pass
    if value > 0:
        tl.store(out, tl.load(out) + value)
        tl.debug_barrier()
        tl.atomic_xchg(lock, 0)
