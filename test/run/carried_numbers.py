# run: ref cpu gpu
# Offsets that a loop carries and moves by numbers that are known and that are not, two at once, and what is left of them behind the loop.
import triton
import triton.language as tl


@triton.jit
def walk(x, y, left, n, by):
    rows, columns = tl.arange(0, 16) * 3 + 1, tl.arange(0, 32)
    at = tl.arange(0, 16)
    for step in range(n):
        v = tl.load(x + at[:, None] * 32 + columns[None, :], mask=at[:, None] < 40, other=-1.0)
        tl.store(y + rows[:, None] * 32 + columns[None, :], v)
        rows += 48
        at += by
    tl.store(left + tl.arange(0, 16), at + rows)


# expect: walk(x=iota(1280), y=zeros(4608,f32), left=zeros(16,i32), n=3, by=14) -> left == [n + 42 + n * 3 + 145 for n in range(16)]
#     and y == [0 if r % 3 != 1 else (r % 48 // 3 + r // 48 * 14) * 32 + c if r % 48 // 3 + r // 48 * 14 < 40 else -1 for r in range(144) for c in range(32)]
# expect: walk(x=iota(1280), y=zeros(4608,f32), left=zeros(16,i32), n=0, by=14) -> left == [n + n * 3 + 1 for n in range(16)] and y == [0 for n in range(4608)]
