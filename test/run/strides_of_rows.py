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
