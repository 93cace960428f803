# run: ref cpu gpu
# Loops of a few known steps that carry tiles: nested, from anywhere, with a scalar beside the tile, and one whose steps store.
import triton
import triton.language as tl


@triton.jit
def pooled(x, y, W, OW, N: tl.constexpr):
    i = tl.arange(0, N)
    most = tl.full([N], float("-inf"), tl.float32)
    for kh in range(2):
        for kw in range(3):
            most = tl.maximum(most, tl.load(x + (i // OW + kh) * W + i % OW + kw, mask=i < OW * 3, other=0))
    tl.store(y + i, most, mask=i < OW * 3)

# expect: pooled(x=iota(40,f32), y=zeros(32,f32), W=10, OW=8, N=32) -> y == [float(i // 8 * 10 + i % 8 + 12) if i < 24 else 0 for i in range(32)]


@triton.jit
def counted(x, y, N: tl.constexpr):
    i = tl.arange(0, N)
    total = tl.zeros([N], tl.int32)
    steps = 0
    for k in range(7, -4, -3):
        total = total * 2 + tl.load(x + i) * k
        steps += k
    tl.store(y + i, total + steps * 1000)

# expect: counted(x=iota(16,i32), y=zeros(16,i32), N=16) -> y == [(((7 * i) * 2 + 4 * i) * 2 + i) * 2 - 2 * i + 10000 for i in range(16)]


@triton.jit
def stepped(x, N: tl.constexpr):
    i = tl.arange(0, N)
    total = tl.zeros([N], tl.float32)
    for k in range(3):
        total += tl.load(x + i + k)
        tl.store(x + i, total)

# expect: stepped(x=[1, 2, 3, 4, 5, 6, 7, 8, 9, 10]:f32, N=1) -> x == [6, 2, 3, 4, 5, 6, 7, 8, 9, 10]
