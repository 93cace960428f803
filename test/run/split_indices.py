# run: ref cpu gpu
# The n-th element as row and column of a matrix: both by divisions whose divisors only a launch tells, so that some vectors
# lie within a row and some do not.
import triton
import triton.language as tl


@triton.jit
def repeated(x, y, M, N, C, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    row, column = i // C, i % C
    tl.store(y + row * C + column, tl.load(x + (row % M) * N + column % N, mask=i < n), mask=i < n)

# Rows shorter than a vector, of its length, around it, longer than a tile.
# expect: repeated[4](x=arange(15,f32), y=zeros(120,f32), M=3, N=5, C=10, n=120, B=32) -> y == [i // 10 % 3 * 5 + i % 5 for i in range(120)]
# expect: repeated[2](x=arange(66,f32), y=zeros(264,f32), M=2, N=33, C=66, n=264, B=256) -> y == [i // 66 % 2 * 33 + i % 33 for i in range(264)]
# expect: repeated[4](x=arange(64,f32), y=zeros(512,f32), M=1, N=64, C=64, n=512, B=128) -> y == [i % 64 for i in range(512)]
# expect: repeated[10](x=arange(300,i32), y=zeros(1200,i32), M=3, N=100, C=200, n=1200, B=128) -> y == [i // 200 % 3 * 100 + i % 100 for i in range(1200)]
# expect: repeated[5](x=arange(1000,i8), y=zeros(1200,i8), M=1, N=1000, C=1000, n=1199, B=256) -> y == [(i % 1000 + 128) % 256 - 128 for i in range(1199)] + [0]


@triton.jit
def joined(x, y, z, N, K, n, B: tl.constexpr):
    i = tl.program_id(0).to(tl.int64) * B + tl.arange(0, B)
    row, column = i // N, i % N
    tl.store(z + row * (N + K) + column + tl.program_id(1) * K, tl.load((x if tl.program_id(1) == 0 else y) + i, mask=i < n), mask=i < n)

# expect: joined[3, 2](x=arange(300,f32), y=arange(300,f32), z=zeros(600,f32), N=100, K=100, n=300, B=128) -> z == [i // 200 * 100 + i % 100 for i in range(600)]
# expect: joined[3, 2](x=arange(333,f16), y=arange(333,f16), z=zeros(666,f16), N=37, K=37, n=333, B=128) -> z == [i // 74 * 37 + i % 37 for i in range(666)]


@triton.jit
def channels(x, w, y, C, S, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(y + i, tl.load(x + i) * tl.load(w + i // S % C))

# expect: channels[2](x=ones(512,f32), w=arange(4,f32), y=zeros(512,f32), C=4, S=50, n=512, B=256) -> y == [i // 50 % 4 for i in range(512)]


# What the divisions give, with numbers and divisors of either sign; 32 and 64 bits.
@triton.jit
def parts(q, r, first, d, B: tl.constexpr):
    i = tl.arange(0, B)
    tl.store(q + i, (first + i) // d)
    tl.store(r + i, (first + i) % d)

# expect: parts(q=zeros(128,i32), r=zeros(128,i32), first=-70, d=100, B=128) -> q == [0] * 128 and r == [i - 70 for i in range(128)]
# expect: parts(q=zeros(128,i32), r=zeros(128,i32), first=-140, d=100, B=128) -> q == [-1] * 41 + [0] * 87 and r == [i - 40 for i in range(41)] + [i - 99 for i in range(87)]
# expect: parts(q=zeros(128,i32), r=zeros(128,i32), first=5, d=-7, B=128) -> q == [-((i + 5) // 7) for i in range(128)] and r == [(i + 5) % 7 for i in range(128)]
# expect: parts(q=zeros(128,i32), r=zeros(128,i32), first=5, d=-1, B=128) -> q == [-i - 5 for i in range(128)] and r == [0] * 128
# expect: parts(q=zeros(128,i64), r=zeros(128,i64), first=10000000000, d=4999999980, B=128) -> q == [2] * 128 and r == [40 + i for i in range(128)]
# expect: parts(q=zeros(128,i64), r=zeros(128,i64), first=9999999980, d=4999999995, B=128) -> q == [1] * 10 + [2] * 118 and r == [4999999985 + i for i in range(10)] + [i for i in range(118)]
# expect: parts(q=zeros(128,i64), r=zeros(128,i64), first=2147483700, d=1000, B=128) -> q == [(2147483700 + i) // 1000 for i in range(128)] and r == [(2147483700 + i) % 1000 for i in range(128)]
