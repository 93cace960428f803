# check: scan[4](x=ones(64,f32), y=empty(64,f32), sums=empty(4,f32), flags=zeros(4,i32), BLOCK=16)
# The flag is raised before the sum is stored.
import triton
import triton.language as tl


@triton.jit
def scan(x, y, sums, flags, BLOCK: tl.constexpr):
    program = tl.program_id(0)
    i = program * BLOCK + tl.arange(0, BLOCK)
    value = tl.cumsum(tl.load(x + i), axis=0)
    before = 0.0
    if program > 0:
        while tl.atomic_add(flags + program - 1, 0) == 0:
            pass
        before = tl.load(sums + program - 1)  # fault: .|.+2 DataRace `sums`
    tl.atomic_xchg(flags + program, 1)
    tl.store(sums + program, before + tl.max(value, axis=0))
    # maybe: .-3 UninitialisedRead
    tl.store(y + i, before + value)
