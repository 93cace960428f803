# run: ref cpu gpu
# Bounds of which no divisor is known: programs below them access whole vectors, the one that holds the end does not touch what lies behind.
import triton
import triton.language as tl


@triton.jit
def twice(x, y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    m = i < n
    tl.store(y + i, tl.load(x + i, mask=m, other=7) * 2, mask=m)

# expect: twice[4](x=iota(2048,f16), y=zeros(2048,f16), n=1001, BLOCK=256) -> y:f16 == [2.0 * i if i < 1001 else 0 for i in range(2048)]
# expect: twice[4](x=iota(1001,i8), y=zeros(1024,i8), n=1001, BLOCK=512) -> y:i8 == [(2 * i + 128) % 256 - 128 if i < 1001 else 0 for i in range(1024)]
# expect: twice[3](x=iota(300), y=zeros(300,f32), n=255, BLOCK=64) -> y == [2.0 * i if i < 192 else 0 for i in range(300)]
# expect: twice[1](x=iota(16,i32), y=zeros(1024,i32), n=3, BLOCK=1024) -> y == [2 * i if i < 3 else 0 for i in range(1024)]
# expect: twice[2](x=iota(64,i32), y=zeros(64,i32), n=-5, BLOCK=32) -> y == [0 for i in range(64)]


# The other ways to say it; places in 64 bits; a bound that nobody specialises on.
@triton.jit(do_not_specialize=["n"])
def ways(x, y, n, limit: tl.int64, BLOCK: tl.constexpr):
    i = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(x + i, mask=n > i, other=-1)
    b = tl.load(x + i, mask=i <= n - 1, other=-1)
    c = tl.load(x + i, mask=(i < n) & (i < limit), other=-1)
    d = tl.load(x + i, mask=i.to(tl.uint64) < n.to(tl.uint64), other=-1)
    tl.store(y + i, a + b + 2 * c + d, mask=(i < limit) & (limit > i))

# expect: ways[4](x=iota(200,i32), y=zeros(256,i32), n=131, limit=197, BLOCK=64)
#     -> y == [5 * i if i < 131 else -5 if i < 197 else 0 for i in range(256)]
# expect: ways[4](x=iota(200,i32), y=zeros(256,i32), n=197, limit=131, BLOCK=64)
#     -> y == [5 * i if i < 131 else 0 for i in range(256)]


# Places that wrap: the last one is below the bound, and the first one is not.
@triton.jit
def around(x, y, first: tl.uint32, n: tl.uint32, N: tl.constexpr):
    i = first + tl.arange(0, N).to(tl.uint32)
    tl.store(y + tl.arange(0, N), tl.load(x + i, mask=i < n, other=-1))

# expect: around(x=iota(64,i32), y=zeros(32,i32), first=4294967292, n=61, N=32) -> y == [-1, -1, -1, -1] + [i for i in range(28)]
# expect: around(x=iota(64,i32), y=zeros(32,i32), first=20, n=61, N=32) -> y == [20 + i for i in range(32)]
# expect: around(x=iota(64,i32), y=zeros(32,i32), first=40, n=61, N=32) -> y == [40 + i if i < 21 else -1 for i in range(32)]


# What stands between: sums of a block, a branch, a counter.
@triton.jit
def sums(x, y, total, n, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    i = pid * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + i, mask=i < n, other=0)
    v = tl.where(i < n, v + 1, 0)
    s = tl.sum(v, 0)
    if s > 1000:
        tl.store(y + i, v, mask=i < n)
    tl.atomic_add(total, s)

# expect: sums[3](x=iota(700,i32), y=zeros(768,i32), total=zeros(1,i32), n=697, BLOCK=256)
#     -> y == [i + 1 if i < 697 else 0 for i in range(768)] and total == [697 * 698 // 2]
