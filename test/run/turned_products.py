# run: ref cpu gpu
# Convolutions whose channels lie an image apart: of products of pixels by channels, stored as images again, vectors run along the
# pixels, and the few channels that are there are rows.
import triton
import triton.language as tl


@triton.jit
def images(x, w, bias, y, W, ld, CI, CO, K: tl.constexpr, M: tl.constexpr, N: tl.constexpr, T: tl.constexpr):
    # Differences of T neighbours in a row of W pixels.
    m, k, j = tl.arange(0, M), tl.arange(0, K), tl.arange(0, N)
    row, column = m // W, m % W
    acc = tl.zeros((M, N), tl.float32)
    for d in range(T):
        a = tl.load(x + (k * ld)[None, :] + (row * W + column + d)[:, None], other=0,
                    mask=(k < CI)[None, :] & (column + d < W)[:, None] & (row * W + column + d < ld)[:, None])
        b = tl.load(w + d * N * K + j[None, :] * K + k[:, None], mask=(k < CI)[:, None] & (j < CO)[None, :], other=0)
        acc += tl.dot(a, b, input_precision="ieee")
    acc += tl.load(bias + j, mask=j < CO, other=0)[None, :]
    tl.store(y + (j * ld)[None, :] + (row * W + column)[:, None], acc, mask=(j < CO)[None, :] & (m < ld)[:, None])


@triton.jit
def one_product(x, w, y, W, ld, CO, K: tl.constexpr, M: tl.constexpr, N: tl.constexpr):
    m, k, j = tl.arange(0, M), tl.arange(0, K), tl.arange(0, N)
    at = (m // W * W + m % W)[:, None]
    a = tl.load(x + (k * ld)[None, :] + at, mask=(m < ld)[:, None], other=0)
    b = tl.load(w + k[:, None] * N + j[None, :])
    tl.store(y + (j * ld)[None, :] + at, tl.dot(a, b, input_precision="ieee"), mask=(j < CO)[None, :] & (m < ld)[:, None])


@triton.jit
def two_readers(x, w, y, z, W, ld, K: tl.constexpr, M: tl.constexpr, N: tl.constexpr):
    # The sum of a loop is stored both ways.
    m, k, j = tl.arange(0, M), tl.arange(0, K), tl.arange(0, N)
    at = (m // W * W + m % W)[:, None]
    acc = tl.zeros((M, N), tl.float32)
    for d in range(2):
        a = tl.load(x + (k * ld)[None, :] + at)
        acc += tl.dot(a, tl.load(w + d * K * N + k[:, None] * N + j[None, :]), input_precision="ieee")
    tl.store(y + (j * ld)[None, :] + at, acc)
    tl.store(z + m[:, None] * N + j[None, :], acc)

# expect: images(x=iota(1x32), w=[[[d + 1] + [nan] * 15 for j in range(16)] for d in range(3)]:f32, bias=[100]:f32, y=zeros(1x32,f32),
#     W=8, ld=32, CI=1, CO=1, K=16, M=32, N=16, T=3)
#     -> y == [[100 + sum((p + d) * (d + 1) for d in range(3) if p % 8 + d < 8) for p in range(32)]]
# expect: images(x=iota(2x30), w=[[[(d + 1) * (k - j) for k in range(16)] for j in range(16)] for d in range(2)]:f32, bias=iota(16), y=zeros(9x30,f32),
#     W=5, ld=30, CI=2, CO=9, K=16, M=32, N=16, T=2)
#     -> y == [[j + sum((30 * k + p + d) * (d + 1) * (k - j) for d in range(2) for k in range(2) if p % 5 + d < 5) for p in range(30)] for j in range(9)]
# expect: images(x=iota(3x64), w=[[[(d + 1) * (k - j) for k in range(16)] for j in range(16)] for d in range(2)]:f32, bias=iota(16), y=zeros(11x64,f32),
#     W=40, ld=64, CI=3, CO=11, K=16, M=64, N=16, T=2)
#     -> y == [[j + sum((64 * k + p + d) * (d + 1) * (k - j) for d in range(2) for k in range(3) if p % 40 + d < 40 and p + d < 64) for p in range(64)] for j in range(11)]
# expect: images(x=[[p % 7 for p in range(64)] for k in range(16)]:f16, w=[[[j % 3 for k in range(16)] for j in range(32)]]:f16, bias=iota(32), y=zeros(18x64,f32),
#     W=16, ld=64, CI=16, CO=18, K=16, M=64, N=32, T=1)
#     -> y == [[j + 16 * (p % 7) * (j % 3) for p in range(64)] for j in range(18)]
# expect: images(x=[[p % 7 for p in range(64)] for k in range(16)]:bf16, w=[[[j % 3 for k in range(16)] for j in range(32)]]:bf16, bias=iota(32), y=zeros(18x64,f32),
#     W=16, ld=64, CI=16, CO=18, K=16, M=64, N=32, T=1)
#     -> y == [[j + 16 * (p % 7) * (j % 3) for p in range(64)] for j in range(18)]
# expect: one_product(x=[[k + p for p in range(30)] for k in range(32)]:i8, w=[[k - j for j in range(16)] for k in range(32)]:i8, W=7, ld=30, CO=13, K=32, M=32, N=16)
#     -> y:i32 == [[sum((k + p) * (k - j) for k in range(32)) for p in range(30)] for j in range(13)]
# expect: one_product(x=[[k + p for p in range(50)] for k in range(16)]:f32, w=[[k - j for j in range(16)] for k in range(16)]:f32, W=7, ld=50, CO=2, K=16, M=64, N=16)
#     -> y == [[sum((k + p) * (k - j) for k in range(16)) for p in range(50)] for j in range(2)]
# expect: two_readers(x=[[k + p for p in range(32)] for k in range(16)]:f32, w=[[[k - j + d for j in range(16)] for k in range(16)] for d in range(2)]:f32, W=7, ld=32, K=16, M=32, N=16)
#     -> y == [[sum((k + p) * (2 * (k - j) + 1) for k in range(16)) for p in range(32)] for j in range(16)]
#     and z == [[sum((k + p) * (2 * (k - j) + 1) for k in range(16)) for j in range(16)] for p in range(32)]
