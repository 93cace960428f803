# check: total[4](x=randn(64,f32), parts=empty(4,f32), count=zeros(1,i32), out=empty(1,f32), PROGRAMS=4, BLOCK=16)
# Whoever comes last sees the parts of all others, since each released its own with the counter.
import triton
import triton.language as tl


@triton.jit
def total(x, parts, count, out, PROGRAMS: tl.constexpr, BLOCK: tl.constexpr):
    program = tl.program_id(0)
    value = tl.load(x + program * BLOCK + tl.arange(0, BLOCK))
    tl.store(parts + program, tl.sum(value, axis=0))
    tl.debug_barrier()
    if tl.atomic_add(count, 1, sem="acq_rel") == PROGRAMS - 1:
        tl.store(out, tl.sum(tl.load(parts + tl.arange(0, PROGRAMS)), axis=0))
