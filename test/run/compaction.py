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
def kept_and_counted(x, y, numbers, N: tl.constexpr, ROUNDS: tl.constexpr):
    # The count is also stored, and the same lanes go to several rows.
    i = tl.arange(0, N)
    v = tl.load(x + i)
    keep = v > 2
    number = tl.cumsum(keep.to(tl.int32), 0)
    tl.store(numbers + i, number)
    for r in range(ROUNDS):
        tl.store(y + r * N + number - 1, v, mask=keep)


@triton.jit
def in_place(x, N: tl.constexpr):
    # What is stored was read from where it goes.
    i = tl.arange(0, N)
    v = tl.load(x + i)
    keep = v > 2
    tl.store(x + tl.cumsum(keep.to(tl.int32), 0) - 1, v, mask=keep)


@triton.jit
def sum_of(a, b):
    return a + b


@triton.jit
def counted_in_bytes(x, y, N: tl.constexpr):
    # A count of eight bits begins anew behind 255.
    i = tl.arange(0, N)
    v = tl.load(x + i)
    keep = v > 0
    number = tl.associative_scan(keep.to(tl.uint8), 0, sum_of)
    tl.store(y + number.to(tl.int32), v, mask=keep)


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
# expect: kept(x=[(i * 37) % 101 for i in range(1024)]:i64, y=zeros(1024,i64), count=zeros(1,i32), n=1000, least=1, base=0, N=1024, INCLUSIVE=True)
#     -> y == ([(i * 37) % 101 for i in range(1000) if (i * 37) % 101 >= 1] + [0] * 1024)[:1024]
# expect: kept(x=[(i * 37) % 101 for i in range(1024)]:bf16, y=zeros(1024,bf16), count=zeros(1,i32), n=1000, least=9.0, base=2, N=1024, INCLUSIVE=False)
#     -> y == ([0] * 2 + [(i * 37) % 101 for i in range(1000) if (i * 37) % 101 >= 9] + [0] * 1024)[:1024]
# expect: kept(x=[(i * 37) % 101 for i in range(512)]:i8, y=zeros(512,i8), count=zeros(1,i32), n=512, least=0, base=0, N=512, INCLUSIVE=True)
#     -> y == [(i * 37) % 101 for i in range(512)]
# expect: kept(x=[(i * 37) % 101 for i in range(256)]:f64, y=zeros(256,f64), count=zeros(1,i32), n=200, least=50.0, base=0, N=256, INCLUSIVE=True)
#     -> y == ([(i * 37) % 101 for i in range(200) if (i * 37) % 101 >= 50] + [0] * 256)[:256]
# expect: kept(x=iota(2), y=zeros(2,f32), count=zeros(1,i32), n=2, least=1.0, base=0, N=2, INCLUSIVE=False) -> y == [1, 0]
# expect: kept(x=[7]:f32, y=zeros(1,f32), count=zeros(1,i32), n=1, least=1.0, base=0, N=1, INCLUSIVE=True) -> y == [7]
# expect: kept_and_counted(x=[i % 5 for i in range(128)]:f32, y=zeros(256,f32), numbers=zeros(128,i32), N=128, ROUNDS=2)
#     -> y == ([i % 5 for i in range(128) if i % 5 > 2] + [0] * 128)[:128] + ([i % 5 for i in range(128) if i % 5 > 2] + [0] * 128)[:128]
#     and numbers == [len([j for j in range(i + 1) if j % 5 > 2]) for i in range(128)]
# expect: counted_in_bytes(x=[i % 5 for i in range(512)]:f32, y=zeros(256,f32), N=512) -> y == [(i - 1) % 4 + 1 for i in range(256)]
# expect: in_place(x=[i % 5 for i in range(128)]:f32, N=128)
#     -> x == [i % 5 for i in range(128) if i % 5 > 2] + [i % 5 for i in range(128)][len([i for i in range(128) if i % 5 > 2]):]
# expect: radix(x=[(i * 37) % 101 for i in range(128)]:i32, y=zeros(100,i32), places=zeros(100,i64), n=100, N=128, B=16)
#     -> y == [(i * 37) % 101 for d in range(16) for i in range(100) if (i * 37) % 101 % 16 == d]
#     and places == [i for d in range(16) for i in range(100) if (i * 37) % 101 % 16 == d]
# expect: other_mask(x=[i % 5 for i in range(64)]:f32, y=zeros(64,f32), n=40, N=64) -> y == ([i % 5 for i in range(40) if i % 5 > 2] + [0] * 64)[:64]
# expect: backwards(x=[i % 5 for i in range(64)]:f32, y=zeros(25,f32), N=64) -> y == [i % 5 for i in range(63, -1, -1) if i % 5 > 2]
# expect: counts(x=[[1] * 64 for r in range(8)]:i32, y=zeros(8x64,i32), n=7, M=8, N=64) -> y == [[c + 1 if c < 7 and r < 7 else 0 for c in range(64)] for r in range(8)]
