# check: accumulate[2](x=randn(2,f32), out=zeros(2,f32), locks=zeros(2,i32))
# Both locks are the same one.
import triton
import triton.language as tl


@triton.jit
def accumulate(x, out, locks):
    value = tl.load(x + tl.program_id(0))
    while tl.atomic_cas(locks, 0, 1) == 1:
        pass
    while tl.atomic_cas(locks, 0, 1) == 1:  # fault: .|.-2 Deadlock
        pass
    tl.atomic_add(out, value)
    tl.atomic_xchg(locks, 0)
    tl.atomic_xchg(locks, 0)
