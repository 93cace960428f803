# check: total[4](x=randn(64,f32), parts=empty(4,f32), count=zeros(1,i32), out=empty(1,f32), PROGRAMS=4, BLOCK=16)
# The last program to arrive adds the partial sums, without having acquired them.
import triton
import triton.language as tl


@triton.jit
def total(x, parts, count, out, PROGRAMS: tl.constexpr, BLOCK: tl.constexpr):
    program = tl.program_id(0)
    value = tl.load(x + program * BLOCK + tl.arange(0, BLOCK))
    tl.store(parts + program, tl.sum(value, axis=0))
    tl.debug_barrier()
    if tl.atomic_add(count, 1, sem="relaxed") == PROGRAMS - 1:
        tl.store(out, tl.sum(tl.load(parts + tl.arange(0, PROGRAMS)), axis=0))  # fault: .|.-3 DataRace `parts`
