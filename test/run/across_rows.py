# run: ref cpu gpu
# Tiles whose elements are adjacent in memory along another dimension than the rest of what is computed with them.
import triton
import triton.language as tl


@triton.jit
def add(x, y, z, xr, xc, yr, yc, zr, zc, M, N, R: tl.constexpr, C: tl.constexpr):
    r = tl.program_id(0) * R + tl.arange(0, R)[:, None]
    c = tl.program_id(1) * C + tl.arange(0, C)[None, :]
    inside = (r < M) & (c < N)
    a = tl.load(x + r * xr + c * xc, mask=inside)
    b = tl.load(y + r * yr + c * yc, mask=inside, other=1)
    tl.store(z + r * zr + c * zc, a * 2 + b, mask=inside)

# x by columns; then all by columns; the result; all but y
# expect: add[2, 3](x=arange(1536,f32), y=arange(1536,f32), z=zeros(1536,f32), xr=1, xc=32, yr=48, yc=1, zr=48, zc=1, M=32, N=48, R=16, C=16) -> z == [2 * (n // 48 + n % 48 * 32) + n for n in range(1536)]
# expect: add[2, 3](x=arange(1536,f32), y=arange(1536,f32), z=zeros(1536,f32), xr=1, xc=32, yr=1, yc=32, zr=1, zc=32, M=32, N=48, R=16, C=16) -> z == [3 * n for n in range(1536)]
# expect: add[2, 3](x=arange(1536,f32), y=arange(1536,f32), z=zeros(1536,f32), xr=48, xc=1, yr=48, yc=1, zr=1, zc=32, M=32, N=48, R=16, C=16) -> z == [3 * (n // 32 + n % 32 * 48) for n in range(1536)]
# expect: add[2, 3](x=arange(1536,f32), y=arange(1536,f32), z=zeros(1536,f32), xr=1, xc=32, yr=48, yc=1, zr=1, zc=32, M=32, N=48, R=16, C=16) -> z == [2 * n + n // 32 + n % 32 * 48 for n in range(1536)]
# Ragged, in long and short rows, of other types.
# expect: add[1, 1](x=arange(551,f32), y=arange(551,f32), z=zeros(551,f32), xr=1, xc=19, yr=29, yc=1, zr=29, zc=1, M=19, N=29, R=32, C=32) -> z == [2 * (n // 29 + n % 29 * 19) + n for n in range(551)]
# expect: add[3, 1](x=arange(551,i64), y=arange(551,i64), z=zeros(551,i64), xr=1, xc=19, yr=29, yc=1, zr=1, zc=19, M=19, N=29, R=8, C=64) -> z == [2 * n + n // 19 + n % 19 * 29 for n in range(551)]
# expect: add[1, 4](x=arange(551,i16), y=arange(551,i16), z=zeros(551,i16), xr=29, xc=1, yr=1, yc=19, zr=1, zc=19, M=19, N=29, R=64, C=8) -> z == [2 * (n // 19 + n % 19 * 29) + n for n in range(551)]


# Every element is read before the first is written.
@triton.jit
def add_turned(x, N: tl.constexpr):
    r, c = tl.arange(0, N)[:, None], tl.arange(0, N)[None, :]
    turned = tl.load(x + c * N + r) + tl.load(x + r * N + c)
    tl.debug_barrier()
    tl.store(x + c * N + r, turned)

# expect: add_turned(x=arange(1024,i32), N=32) -> x == [n + n // 32 + n % 32 * 32 for n in range(1024)]


@triton.jit
def sums(x, rows, columns, M, N, R: tl.constexpr, C: tl.constexpr):
    r, c = tl.arange(0, R), tl.arange(0, C)
    tile = tl.load(x + r[:, None] + c[None, :] * M, mask=(r < M)[:, None] & (c < N)[None, :], other=0)
    tl.store(rows + r, tl.sum(tile, 1), mask=r < M)
    tl.store(columns + c, tl.sum(tile, 0), mask=c < N)

# expect: sums(x=arange(456,i32), rows=zeros(24,i32), columns=zeros(19,i32), M=24, N=19, R=32, C=32) -> rows == [19 * n + 24 * 171 for n in range(24)] and columns == [24 * 24 * n + 276 for n in range(19)]


@triton.jit
def carried(x, y, M, N, R: tl.constexpr, C: tl.constexpr):
    r, c = tl.arange(0, R), tl.arange(0, C)
    total = tl.zeros((R, C), tl.int32)
    for first in range(0, N, C):
        column = first + c
        total += tl.load(x + r[:, None] + column[None, :] * M, mask=(r < M)[:, None] & (column < N)[None, :], other=0)
    tl.store(y + r, tl.sum(total, 1), mask=r < M)

# expect: carried(x=arange(840,i32), y=zeros(24,i32), M=24, N=35, R=32, C=16) -> y == [35 * n + 24 * 595 for n in range(24)]


# The middle of three dimensions is the one of adjacent elements, of what is stored and of half of what is read.
@triton.jit
def middle(x, y, A: tl.constexpr, B: tl.constexpr, C: tl.constexpr):
    a, b, c = tl.arange(0, A)[:, None, None], tl.arange(0, B)[None, :, None], tl.arange(0, C)[None, None, :]
    turned = tl.load(x + a * B * C + b + c * B)
    tl.store(y + a * B * C + b + c * B, tl.load(x + a * B * C + b * C + c) - tl.abs(turned))

# expect: middle(x=arange(1024,i32), y=zeros(1024,i32), A=4, B=16, C=16) -> y == [n // 256 * 256 + n % 16 * 16 + n % 256 // 16 - n for n in range(1024)]
