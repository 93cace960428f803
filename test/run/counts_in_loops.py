# run: ref cpu gpu
# Sums of integers that a loop adds up to sum them along an axis: of truths, of numbers that wrap, of a loop that begins with some.
import triton
import triton.language as tl


@triton.jit
def bins(x, y, n, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    # How many of n numbers are in each bin.
    row = tl.arange(0, ROWS)
    found = tl.zeros((ROWS, COLUMNS), tl.int64)
    for first in range(0, n, COLUMNS):
        at = first + tl.arange(0, COLUMNS)
        v = tl.load(x + at, mask=at < n, other=0)
        found += tl.where(at < n, row[:, None] == v % ROWS, False)
    tl.store(y + row, tl.sum(found, 1))


@triton.jit
def wrapped(x, y, n, N: tl.constexpr):
    i = tl.arange(0, N)
    total = tl.load(x + i)
    for _ in range(n):
        total = tl.load(x + i) + total
    tl.store(y, tl.sum(total, 0))


@triton.jit
def looked_at(x, y, n, N: tl.constexpr):
    # Each round looks at the tile.
    i = tl.arange(0, N)
    total = tl.zeros((N,), tl.int32)
    for _ in range(n):
        total += tl.load(x + i) + (total > 5).to(tl.int32)
    tl.store(y, tl.sum(total, 0))

# expect: bins(x=iota(1000,i32), y=zeros(8,i64), n=1000, ROWS=8, COLUMNS=512) -> y == [125 for b in range(8)]
# expect: bins(x=iota(1000,i64), y=zeros(8,i64), n=999, ROWS=8, COLUMNS=1024) -> y == [125 if b < 7 else 124 for b in range(8)]
# expect: bins(x=iota(64,i32), y=zeros(2,i64), n=0, ROWS=2, COLUMNS=64) -> y == [0, 0]
# expect: wrapped(x=[1073741824 + i for i in range(8192)]:i32, y=zeros(1,i32), n=2, N=8192) -> y == [100651008]
# expect: looked_at(x=[1 for i in range(64)]:i32, y=zeros(1,i32), n=8, N=64) -> y == [640]
