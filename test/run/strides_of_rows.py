# run: ref cpu gpu
# Strides that only the launch tells: rows whose elements follow each other, lie apart, are one, or go backwards.
import triton
import triton.language as tl


@triton.jit
def copied(x, y, strides, first, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(y + i * tl.load(strides + 1), tl.load(x + first + i * tl.load(strides), mask=i < n, other=-1), mask=i < n)

# expect: copied[2](x=arange(300,f32), y=zeros(300,f32), strides=[1, 1]:i64, first=7, n=250, B=128) -> y == [i + 7 for i in range(250)] + [0] * 50
# expect: copied[2](x=arange(300,f32), y=zeros(300,f32), strides=[2, 1]:i32, first=1, n=130, B=128) -> y == [2 * i + 1 for i in range(130)] + [0] * 170
# expect: copied[2](x=arange(300,bf16), y=zeros(300,bf16), strides=[0, 1]:i64, first=7, n=250, B=128) -> y == [7] * 250 + [0] * 50
# expect: copied[2](x=arange(300,f32), y=zeros(300,f32), strides=[-1, 2]:i32, first=140, n=140, B=128) -> y == [140 - i // 2 if i % 2 == 0 and i < 280 else 0 for i in range(300)]


@triton.jit
def rows(x, y, strides, C, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    row, column = i // C, i % C
    at = row * tl.load(strides) + column * tl.load(strides + 1)
    tl.store(y + i, tl.load(x + at, mask=i < n), mask=i < n)

# Rows of several vectors, of some and a rest, shorter than one, and of whole ones exactly.
# expect: rows[3](x=arange(400,f32), y=zeros(384,f32), strides=[100, 1]:i64, C=100, n=380, B=128) -> y == [i for i in range(380)] + [0] * 4
# expect: rows[3](x=arange(400,f32), y=zeros(384,f32), strides=[1, 4]:i64, C=90, n=360, B=128) -> y == [i // 90 + i % 90 * 4 for i in range(360)] + [0] * 24
# expect: rows[3](x=arange(400,f32), y=zeros(384,f32), strides=[7, 0]:i32, C=56, n=384, B=128) -> y == [i // 56 * 7 for i in range(384)]
# expect: rows[1](x=arange(400,f16), y=zeros(256,f16), strides=[0, 1]:i32, C=10, n=256, B=256) -> y == [i % 10 for i in range(256)]
# expect: rows[1](x=arange(1000,i32), y=zeros(512,i32), strides=[200, 1]:i32, C=160, n=500, B=512) -> y == [i // 160 * 200 + i % 160 for i in range(500)] + [0] * 12


@triton.jit
def windows(x, y, strides, C: tl.constexpr, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    row, column = i // C, i % C
    tl.store(y + row * tl.load(strides) + column * tl.load(strides + 1), tl.load(x + i, mask=i < n), mask=i < n)

# expect: windows[2](x=arange(192,bf16), y=zeros(2x100,bf16), strides=[100, 1]:i64, C=96, n=192, B=128) -> y == [[r * 96 + c if c < 96 else 0 for c in range(100)] for r in range(2)]
# expect: windows[1](x=arange(192,f32), y=zeros(48x4,f32), strides=[1, 4]:i64, C=48, n=192, B=256) -> y == [[48 * c + r for c in range(4)] for r in range(48)]


# The same divisions in each round of a loop.
@triton.jit
def planes(x, y, P, H, W, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    w, h = i % W, i // W % H
    for p in range(P):
        tl.store(y + p * n + i, tl.load(x + (p * H + (h + 1) % H) * W + W - 1 - w, mask=i < n), mask=i < n)

# expect: planes[2](x=arange(480,f32), y=zeros(480,f32), P=3, H=4, W=40, n=160, B=128) -> y == [p * 160 + (h + 1) % 4 * 40 + 39 - w for p in range(3) for h in range(4) for w in range(40)]
# expect: planes[1](x=arange(60,i32), y=zeros(60,i32), P=2, H=6, W=5, n=30, B=32) -> y == [p * 30 + (h + 1) % 6 * 5 + 4 - w for p in range(2) for h in range(6) for w in range(5)]


# What is read is told by a branch: the store may go past the cache all the same.
@triton.jit
def either(x, z, y, which, n, B: tl.constexpr):
    if tl.load(which + tl.program_id(0)) == 0:
        source = x
    else:
        source = z
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(y + i, tl.load(source + i, mask=i < n), mask=i < n)

# expect: either[3](x=arange(300,f32), z=zeros(300,f32), y=zeros(384,f32), which=[0, 1, 0]:i32, n=300, B=128) -> y == [i if i < 128 or 256 <= i < 300 else 0 for i in range(384)]


# The same of tiles of rows: a stride of each dimension, tiles as narrow as four columns, and columns under a mask.
@triton.jit
def tiled(x, y, strides, first, rows, columns, M: tl.constexpr, N: tl.constexpr):
    i = tl.arange(0, M)[:, None]
    j = tl.arange(0, N)[None, :]
    inside = (i < rows) & (j < columns)
    v = tl.load(x + first + i * tl.load(strides) + j * tl.load(strides + 1), mask=inside)
    tl.store(y + i * tl.load(strides + 2) + j * tl.load(strides + 3), v, mask=inside)

# expect: tiled(x=arange(200,f32), y=zeros(4x32,f32), strides=[40, 1, 32, 1]:i64, first=3, rows=4, columns=32, M=4, N=32) -> y == [[r * 40 + c + 3 for c in range(32)] for r in range(4)]
# expect: tiled(x=arange(200,f32), y=zeros(4x32,f32), strides=[40, -1, 32, 1]:i64, first=39, rows=3, columns=30, M=4, N=32) -> y == [[r * 40 + 39 - c if r < 3 and c < 30 else 0 for c in range(32)] for r in range(4)]
# expect: tiled(x=arange(200,bf16), y=zeros(4x32,bf16), strides=[1, 0, 32, 1]:i32, first=5, rows=4, columns=27, M=4, N=32) -> y == [[r + 5 if c < 27 else 0 for c in range(32)] for r in range(4)]
# expect: tiled(x=arange(200,f32), y=zeros(32x4,f32), strides=[32, 1, 1, 4]:i32, first=0, rows=4, columns=32, M=4, N=32) -> y == [[c * 32 + r for c in range(4)] for r in range(32)]
# expect: tiled(x=arange(200,i32), y=zeros(32x4,i32), strides=[1, 0, 4, 1]:i64, first=2, rows=31, columns=4, M=32, N=4) -> y == [[r + 2 if r < 31 else 0 for c in range(4)] for r in range(32)]
# expect: tiled(x=arange(200,f64), y=zeros(32x4,f64), strides=[3, -2, 4, 1]:i64, first=6, rows=32, columns=3, M=32, N=4) -> y == [[r * 3 + 6 - 2 * c if c < 3 else 0 for c in range(4)] for r in range(32)]


# What wraps around without a sign goes on by no stride.
@triton.jit
def wrapping(x, y, stride, B: tl.constexpr):
    i = tl.arange(0, B)
    at = (i.to(tl.uint32) * tl.load(stride).to(tl.uint32)).to(tl.int64) & 127
    tl.store(y + i, tl.load(x + at))

# expect: wrapping(x=arange(128,f32), y=zeros(64,f32), stride=[-1]:i32, B=64) -> y == [-i % 128 for i in range(64)]
# expect: wrapping(x=arange(128,f32), y=zeros(64,f32), stride=[1]:i32, B=64) -> y == list(range(64))


# Columns that rows of a tile split alike: runs of many, of a few and of less than a vector.
@triton.jit
def products(x, y, z, M, N, H, W, stride, B: tl.constexpr, C: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)[:, None]
    j = tl.program_id(1) * C + tl.arange(0, C)[None, :]
    inside = (i < M) & (j < N)
    a = tl.load(x + i // H * tl.load(stride) + j // W, mask=inside)
    b = tl.load(y + i % H * W + j % W * tl.load(stride + 1), mask=inside)
    tl.store(z + i * N + j, a * b, mask=inside)

# expect: products[2, 2](x=arange(8,f32), y=arange(240,f32), z=zeros(4x240,f32), M=4, N=240, H=2, W=120, stride=[2, 1]:i64, B=2, C=128) -> z == [[(r // 2 * 2 + c // 120) * (r % 2 * 120 + c % 120) for c in range(240)] for r in range(4)]
# expect: products[1, 2](x=arange(60,f32), y=arange(21,f32), z=zeros(3x210,f32), M=3, N=210, H=3, W=7, stride=[30, 1]:i32, B=4, C=128) -> z == [[c // 7 * (r * 7 + c % 7) for c in range(210)] for r in range(3)]
# expect: products[1, 1](x=arange(8,f32), y=arange(200,f32), z=zeros(2x200,f32), M=2, N=200, H=1, W=100, stride=[2, 0]:i64, B=2, C=256) -> z == [[(r * 2 + c // 100) * 0 for c in range(200)] for r in range(2)]
