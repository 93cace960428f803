# run: ref cpu gpu
# Pairs that become a row, and a row that becomes pairs: exchanged in registers.
import triton
import triton.language as tl


@triton.jit
def interleaved(x, y, out, n, N: tl.constexpr):
    i = tl.arange(0, N)
    a = tl.load(x + i, mask=i < n, other=-1.0)
    b = tl.load(y + i, mask=i < n, other=-2.0)
    both = tl.interleave(a + 1, tl.exp2(b) + a)
    j = tl.arange(0, 2 * N)
    tl.store(out + j, both, mask=j < 2 * n + 1)


# expect: interleaved(x=iota(64), y=zeros(64,f32), n=64, N=64, out=zeros(128,f32))
#         -> out == [k // 2 + 1 for k in range(128)]
# expect: interleaved(x=iota(64), y=zeros(64,f32), n=3, N=64, out=zeros(128,f32))
#         -> out == [1, 1, 2, 2, 3, 3, 0] + [0] * 121
# expect: interleaved(x=iota(2), y=zeros(2,f32), n=2, N=2, out=zeros(4,f32)) -> out == [1, 1, 2, 2]


@triton.jit
def four(x, out, N: tl.constexpr):
    i = tl.arange(0, N)
    v = tl.load(x + i)
    low = tl.join((v & 3).to(tl.int16), ((v >> 2) & 3).to(tl.int16))
    high = tl.join(((v >> 4) & 3).to(tl.int16), ((v >> 6) & 3).to(tl.int16))
    row = tl.reshape(tl.join(low, high), (4 * N, ))
    tl.store(out + tl.arange(0, 4 * N), row)


# expect: four(x=[27, 228, 1, 255]:u8, N=4, out=zeros(16,i16))
#         -> out == [3, 1, 2, 0, 0, 2, 1, 3, 1, 0, 0, 0, 3, 3, 3, 3]


@triton.jit
def rows(x, out, M: tl.constexpr, N: tl.constexpr):
    m = tl.arange(0, M)[:, None]
    v = tl.load(x + m * N + tl.arange(0, N)[None, :])
    both = tl.interleave(v, -v)
    tl.store(out + m * (2 * N) + tl.arange(0, 2 * N)[None, :], both)
    # Across its rows.
    tl.store(out + 2 * M * N + m + tl.arange(0, 2 * N)[None, :] * M, both * 2)


# expect: rows(x=iota(2x16), M=2, N=16, out=zeros(128,f32))
#         -> out == [(k // 2) * (1 - k % 2 * 2) + 0.0 if k else 0.0 for k in range(64)]
#            + [2 * (k % 2 * 16 + k // 4) * (1 - k // 2 % 2 * 2) + 0.0 for k in range(64)]


@triton.jit
def turned(x, out, N: tl.constexpr):
    v = tl.load(x + tl.arange(0, 2 * N))
    real, imaginary = tl.split(tl.reshape(v * 2, (N, 2)))
    i = tl.arange(0, N)
    tl.store(out + i, real - imaginary)
    tl.store(out + N + i, imaginary * 10)


# expect: turned(x=iota(64), N=32, out=zeros(64,f32))
#         -> out == [-2] * 32 + [20 * (2 * k + 1) for k in range(32)]
# expect: turned(x=iota(2), N=1, out=zeros(2,f32)) -> out == [-2, 20]


@triton.jit
def both_ways(x, cos, M: tl.constexpr, N: tl.constexpr):
    m = tl.arange(0, M)[:, None]
    at = m * (2 * N) + tl.arange(0, 2 * N)[None, :]
    a, b = tl.split(tl.reshape(tl.load(x + at), (M, N, 2)))
    c = tl.load(cos + tl.arange(0, N))[None, :]
    tl.store(x + at, tl.reshape(tl.join(a * c - b, a + b * c), (M, 2 * N)))


# expect: both_ways(x=iota(4x8), cos=[1, 2, 3, 4]:f32, M=4, N=4)
#         -> x == [[(8 * m + j) * (j // 2 + 1) - (8 * m + j + 1) if j % 2 == 0
#                   else (8 * m + j - 1) + (8 * m + j) * (j // 2 + 1) for j in range(8)]
#                  for m in range(4)]


@triton.jit
def by_place(x, out, N: tl.constexpr):
    pairs = tl.reshape(tl.load(x + tl.arange(0, 2 * N)) + 1, (N, 2))
    at = tl.arange(0, N)[:, None] + tl.arange(0, 2)[None, :] * N
    tl.store(out + at, pairs)
    tl.store(out + 2 * N + tl.arange(0, N), tl.sum(pairs, axis=1))
    tl.store(out + 3 * N + tl.arange(0, 2), tl.sum(pairs, axis=0))


# expect: by_place(x=iota(32,i32), N=16, out=zeros(50,i32))
#         -> out == [2 * k + 1 for k in range(16)] + [2 * k + 2 for k in range(16)]
#            + [4 * k + 3 for k in range(16)] + [256, 272]
