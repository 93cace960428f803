# check: scan[4](x=[3, 1, 4, 1, 5, 9, 2, 6]:i32, y=empty(8,i32), state=zeros(4,i64), BLOCK=2)
# Value and flag travel in one word, so relaxed order is enough.
import triton
import triton.language as tl


@triton.jit
def scan(x, y, state, BLOCK: tl.constexpr):
    program = tl.program_id(0)
    i = program * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + i)
    before = tl.full([], 0, tl.int64)
    if program > 0:
        word = tl.atomic_add(state + program - 1, 0, sem="relaxed")
        while word == 0:
            word = tl.atomic_add(state + program - 1, 0, sem="relaxed")
        before = word >> 1
    total = before + tl.sum(value, axis=0)
    tl.atomic_xchg(state + program, total * 2 + 1, sem="relaxed")
    tl.store(y + i, (before + tl.cumsum(value, axis=0)).to(tl.int32))
