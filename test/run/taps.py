# run: ref cpu gpu
# Loops that move all pixels by one amount a round: which vectors of them are adjacent is found before the loop.
import triton
import triton.language as tl


@triton.jit
def taps(x, w, y, W, H, S, C, L, K: tl.constexpr, M: tl.constexpr, N: tl.constexpr):
    # One channel of several, L elements apart, 3 x 3, rows S elements apart and columns C.
    m, k, j = tl.arange(0, M), tl.arange(0, K), tl.arange(0, N)
    row, column = m // W, m % W
    acc = tl.zeros((M, N), tl.float32)
    for tap in range(9):
        r, c = row - 1 + tap // 3, column - 1 + tap % 3
        at = x + k[None, :] * L + (r * S)[:, None] + (c * C)[:, None]
        a = tl.load(at, mask=((0 <= r) & (r < H) & (0 <= c) & (c < W))[:, None] & (k < 1)[None, :], other=0)
        b = tl.load(w + tap * N + k[:, None] + j[None, :], mask=(k < 1)[:, None], other=0)
        acc += tl.dot(a, b, input_precision="ieee")
    tl.store(y + m[:, None] + j[None, :] * M, acc, mask=(row < H)[:, None] & (j < 1)[None, :])


@triton.jit
def frames(x, w, y, W, S, L, frames, K: tl.constexpr, M: tl.constexpr, N: tl.constexpr):
    # What is adjacent differs from frame to frame, not from row to row of one: frame f is W + f columns wide.
    m, k, j = tl.arange(0, M), tl.arange(0, K), tl.arange(0, N)
    for f in range(frames):
        row, column, step = m // (W + f), m % (W + f), f - 1
        acc = tl.zeros((M, N), tl.float32)
        for dy in range(3):
            at = x + k[None, :] * L + ((dy - row) * S - column * step)[:, None]
            a = tl.load(at + 64 * S, mask=(k < 1)[None, :], other=0)
            acc += tl.dot(a, tl.load(w + k[:, None] + j[None, :], mask=(k < 1)[:, None], other=0), input_precision="ieee")
        tl.store(y + f * M + m[:, None] + j[None, :] * M, acc, mask=(j < 1)[None, :])

# expect: taps(x=iota(64), w=[[1 if j == 0 else 0 for j in range(16)] for t in range(9)]:f32, y=zeros(16x64,f32), W=8, H=8, S=8, C=1, L=500, K=16, M=64, N=16)
#     -> y == [[sum(8 * r + c for r in range(max(p // 8 - 1, 0), min(p // 8 + 2, 8)) for c in range(max(p % 8 - 1, 0), min(p % 8 + 2, 8))) if j == 0 else 0
#     for p in range(64)] for j in range(16)]
# expect: taps(x=iota(200), w=[[t if j == 0 else 0 for j in range(16)] for t in range(9)]:f32, y=zeros(16x64,f32), W=9, H=7, S=20, C=2, L=500, K=16, M=64, N=16)
#     -> y == [[sum((20 * (p // 9 - 1 + t // 3) + 2 * (p % 9 - 1 + t % 3)) * t for t in range(9)
#     if 0 <= p // 9 - 1 + t // 3 < 7 and 0 <= p % 9 - 1 + t % 3 < 9) if j == 0 and p < 63 else 0 for p in range(64)] for j in range(16)]
# expect: taps(x=iota(64), w=[[1 if j == 0 and t == 4 else 0 for j in range(16)] for t in range(9)]:f32, y=zeros(16x64,f32), W=64, H=1, S=64, C=0, L=500, K=16, M=64, N=16)
#     -> y == [[0 for p in range(64)] for j in range(16)]
# expect: frames(x=iota(2000), w=[[1 for j in range(16)]]:f32, y=zeros(18x64,f32), W=15, S=10, frames=3, L=500, K=16, M=64, N=16)
#     -> y == [[3 * (640 - p // (15 + f) * 10 - p % (15 + f) * (f - 1)) + 30 for p in range(64)] if f < 3 else [0 for p in range(64)] for f in range(18)]
