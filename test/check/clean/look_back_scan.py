# check: scan[4](x=ones(64,f32), y=empty(64,f32), sums=empty(4,f32), flags=zeros(4,i32), BLOCK=16)
# Each program waits for its left neighbour's sum, and acquires it with the flag.
import triton
import triton.language as tl


@triton.jit
def scan(x, y, sums, flags, BLOCK: tl.constexpr):
    program = tl.program_id(0)
    i = program * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + i)
    before = 0.0
    if program > 0:
        while tl.atomic_add(flags + program - 1, 0, sem="acquire") == 0:
            pass
        before = tl.load(sums + program - 1)
    tl.store(sums + program, before + tl.sum(value, axis=0))
    tl.debug_barrier()
    tl.atomic_xchg(flags + program, 1, sem="release")
    tl.store(y + i, before + tl.cumsum(value, axis=0))
