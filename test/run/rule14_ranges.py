# run: ref cpu gpu
# Rule 14: loop ranges: types, downwards, no trips, no overflow at the end.
import triton
import triton.language as tl


@triton.jit
def down(y, n):
    at = 0
    for i in range(n - 1, -1, -1):
        tl.store(y + at, i)
        at += 1

# expect: down(y=full(4,9,i32), n=4) -> y == [3, 2, 1, 0]
# expect: down(y=full(4,9,i32), n=0) -> y == [9, 9, 9, 9]


@triton.jit
def down_by(y, n):
    at = 0
    for i in range(n, 0, -3):
        tl.store(y + at, i)
        at += 1

# expect: down_by(y=full(4,9,i32), n=8) -> y == [8, 5, 2, 9]


@triton.jit
def wide(y, n):
    for i in range(n, n + 2):
        tl.static_assert(i.dtype == tl.int64)
        tl.store(y + (i - n), i)

# expect: wide(y=zeros(2,i64), n=4294967296) -> y == [4294967296, 4294967297]


@triton.jit
def stepped(y, n, step):
    last = -1
    for i in range(0, n, step):
        last = i
    tl.store(y, last)

# expect: stepped(y=zeros(1,i32), n=10, step=4) -> y == [8]


@triton.jit
def unrolled(y, N: tl.constexpr):
    for i in tl.static_range(N, 0, -2):
        tl.store(y + i, i)

# expect: unrolled(y=zeros(6,i32), N=5) -> y == [0, 1, 0, 3, 0, 5]
