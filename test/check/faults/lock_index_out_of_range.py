# check: accumulate[4](x=randn(4x16,f32), out=zeros(2x16,f32), locks=zeros(2,i32), GROUPS=2, N=16)
# There is a lock for each group of rows, but the row takes one of its own.
import triton
import triton.language as tl


@triton.jit
def accumulate(x, out, locks, GROUPS: tl.constexpr, N: tl.constexpr):
    row = tl.program_id(0)
    group = row % GROUPS
    columns = tl.arange(0, N)
    value = tl.load(x + row * N + columns)
    while tl.atomic_cas(locks + row, 0, 1) == 1:  # fault: . OutOfBounds `locks`
        pass
    total = tl.load(out + group * N + columns) + value  # maybe: . DataRace
    tl.store(out + group * N + columns, total)  # maybe: . DataRace
    tl.debug_barrier()
    tl.atomic_xchg(locks + row, 0)  # maybe: . OutOfBounds
