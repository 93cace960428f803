# run: ref cpu gpu
# Lanes that are kept follow each other: each goes where the running count of its mask says.
import triton
import triton.language as tl


@triton.jit
def kept(x, y, count, n, least, base, N: tl.constexpr, INCLUSIVE: tl.constexpr):
    i = tl.arange(0, N)
    v = tl.load(x + i, mask=i < n, other=0)
    keep = tl.where(i < n, v >= least, False)
    number = tl.cumsum(keep.to(tl.int32), 0)
    at = number - 1 if INCLUSIVE else number - keep.to(tl.int32)
    tl.store(y + base + at, v, mask=keep)
    tl.store(count, tl.sum(keep.to(tl.int32), 0))


@triton.jit
def counted_unsigned(x, y, before, n, N: tl.constexpr):
    # The sum of truths is unsigned: behind the mask a place may be 0 - 1, which is 2^32 - 1.
    i = tl.program_id(0) * N + tl.arange(0, N)
    v = tl.load(x + i, mask=i < n, other=0)
    start = 0
    if tl.program_id(0) > 0:
        start = tl.load(before)
    tl.store(y + start + tl.cumsum(v > 2) - 1, v, mask=v > 2)


@triton.jit
def radix(x, y, places, n, N: tl.constexpr, B: tl.constexpr):
    # Bin by bin, with the places that they came from.
    i = tl.arange(0, N)
    v = tl.load(x + i, mask=i < n, other=0)
    base = 0
    for digit in range(B):
        mine = tl.where(i < n, v % B == digit, False)
        at = base + tl.cumsum(mine.to(tl.uint32), 0) - mine
        tl.store(y + at, v, mask=mine)
        tl.store(places + at, i.to(tl.int64), mask=mine)
        base += tl.sum(mine.to(tl.int32), 0)


@triton.jit
def other_mask(x, y, n, N: tl.constexpr):
    # Counted is one mask, stored another: lanes are apart.
    i = tl.arange(0, N)
    v = tl.load(x + i)
    number = tl.cumsum((v > 2).to(tl.int32), 0)
    tl.store(y + number - 1, v, mask=(v > 2) & (i < n))


@triton.jit
def backwards(x, y, N: tl.constexpr):
    i = tl.arange(0, N)
    v = tl.load(x + i)
    keep = v > 2
    number = tl.cumsum(keep.to(tl.int32), 0, reverse=True)
    tl.store(y + number - 1, v, mask=keep)


@triton.jit
def counts(x, y, n, M: tl.constexpr, N: tl.constexpr):
    # Nobody looks at what is counted behind the mask.
    r, c = tl.arange(0, M)[:, None], tl.arange(0, N)[None, :]
    v = tl.load(x + r * N + c)
    tl.store(y + r * N + c, tl.cumsum(v, 1), mask=(c < n) & (r < n))

# expect: kept(x=[(i * 37) % 101 for i in range(256)]:f32, y=zeros(160,f32), count=zeros(1,i32), n=250, least=50.0, base=3, N=256, INCLUSIVE=False)
#     -> y == ([0] * 3 + [(i * 37) % 101 for i in range(250) if (i * 37) % 101 >= 50] + [0] * 160)[:160]
#     and count == [len([i for i in range(250) if (i * 37) % 101 >= 50])]
# expect: counted_unsigned[2](x=[(i * 37) % 6 for i in range(128)]:f32, y=zeros(64,f32), before=[31]:i32, n=120, N=64)
#     -> y == ([(i * 37) % 6 for i in range(64) if (i * 37) % 6 > 2] + [(i * 37) % 6 for i in range(64, 120) if (i * 37) % 6 > 2] + [0] * 64)[:64]
# expect: kept(x=[(i * 37) % 101 for i in range(256)]:i64, y=zeros(160,i64), count=zeros(1,i32), n=250, least=50, base=0, N=256, INCLUSIVE=True)
#     -> y == ([(i * 37) % 101 for i in range(250) if (i * 37) % 101 >= 50] + [0] * 160)[:160]
# expect: kept(x=[(i * 37) % 101 for i in range(256)]:i32, y=zeros(256,i32), count=zeros(1,i32), n=256, least=0, base=0, N=256, INCLUSIVE=True)
#     -> y == [(i * 37) % 101 for i in range(256)]
# expect: kept(x=[(i * 37) % 101 for i in range(64)]:f16, y=zeros(64,f16), count=zeros(1,i32), n=9, least=50.0, base=0, N=64, INCLUSIVE=False)
#     -> y == ([(i * 37) % 101 for i in range(9) if (i * 37) % 101 >= 50] + [0] * 64)[:64]
# expect: kept(x=iota(8), y=zeros(8,f32), count=zeros(1,i32), n=8, least=5.0, base=0, N=8, INCLUSIVE=True) -> y == [5, 6, 7, 0, 0, 0, 0, 0]
# expect: kept(x=iota(64), y=zeros(64,f32), count=zeros(1,i32), n=0, least=0.0, base=0, N=64, INCLUSIVE=True) -> y == [0] * 64
# expect: radix(x=[(i * 37) % 101 for i in range(128)]:i32, y=zeros(100,i32), places=zeros(100,i64), n=100, N=128, B=16)
#     -> y == [(i * 37) % 101 for d in range(16) for i in range(100) if (i * 37) % 101 % 16 == d]
#     and places == [i for d in range(16) for i in range(100) if (i * 37) % 101 % 16 == d]
# expect: other_mask(x=[i % 5 for i in range(64)]:f32, y=zeros(64,f32), n=40, N=64) -> y == ([i % 5 for i in range(40) if i % 5 > 2] + [0] * 64)[:64]
# expect: backwards(x=[i % 5 for i in range(64)]:f32, y=zeros(25,f32), N=64) -> y == [i % 5 for i in range(63, -1, -1) if i % 5 > 2]
# expect: counts(x=[[1] * 64 for r in range(8)]:i32, y=zeros(8x64,i32), n=7, M=8, N=64) -> y == [[c + 1 if c < 7 and r < 7 else 0 for c in range(64)] for r in range(8)]
