# run: ref cpu gpu
# Products whose left operand lies scattered along K: a few steps of K filled up to what `tl.dot` takes, pixels of an image whose
# channels are the steps.
import triton
import triton.language as tl


@triton.jit
def few_steps(x, w, y, ld, n, C: tl.constexpr, K: tl.constexpr, M: tl.constexpr, N: tl.constexpr):
    m, k, j = tl.arange(0, M), tl.arange(0, K), tl.arange(0, N)
    a = tl.load(x + k[None, :] * ld + m[:, None], mask=(k < C)[None, :] & (m < n)[:, None], other=0)
    b = tl.load(w + k[:, None] * N + j[None, :], mask=(k < C)[:, None], other=0)
    tl.store(y + m[:, None] * N + j[None, :], tl.dot(a, b, input_precision="ieee"), mask=(m < n)[:, None])


@triton.jit
def one_operand(x, w, y, ld, C: tl.constexpr, K: tl.constexpr, M: tl.constexpr, N: tl.constexpr):
    # What is masked in one operand alone counts in the other: nan * 0.
    m, k, j = tl.arange(0, M), tl.arange(0, K), tl.arange(0, N)
    a = tl.load(x + k[None, :] * ld + m[:, None], mask=(k < C)[None, :], other=0.0)
    b = tl.load(w + k[:, None] * N + j[None, :])
    tl.store(y + m[:, None] * N + j[None, :], tl.dot(a, b, input_precision="ieee"))


@triton.jit
def pixels(x, w, y, W, H, ld, K: tl.constexpr, M: tl.constexpr, N: tl.constexpr):
    # 2 x 1 differences of an image of W columns, all channels.
    m, k, j = tl.arange(0, M), tl.arange(0, K), tl.arange(0, N)
    row, column = m // W, m % W
    acc = tl.zeros((M, N), tl.float32)
    for dy in range(2):
        at = x + k[None, :] * ld + ((row + dy) * W + column)[:, None]
        a = tl.load(at, mask=(row + dy < H)[:, None], other=0)
        acc += tl.dot(a, tl.load(w + dy * K * N + k[:, None] * N + j[None, :]), input_precision="ieee")
    tl.store(y + m[:, None] * N + j[None, :], acc, mask=(row < H)[:, None])

@triton.jit
def few_rows(x, w, y, W, ld, K: tl.constexpr, M: tl.constexpr, N: tl.constexpr):
    # Rows of weights lie along K, and are multiplied as they are.
    m, k, j = tl.arange(0, M), tl.arange(0, K), tl.arange(0, N)
    a = tl.load(x + k[None, :] * ld + (m // W * W + m % W)[:, None])
    b = tl.load(w + k[:, None] + j[None, :] * K)
    tl.store(y + m[:, None] * N + j[None, :], tl.dot(a, b, input_precision="ieee"))

# expect: few_steps(x=iota(3x32), w=iota(3x16), ld=32, n=32, C=3, K=16, M=32, N=16)
#     -> y == [[sum((32 * k + m) * (16 * k + j) for k in range(3)) for j in range(16)] for m in range(32)]
# expect: few_steps(x=iota(1x64), w=iota(1x32), ld=64, n=50, C=1, K=32, M=64, N=32)
#     -> y == [[m * j if m < 50 else 0 for j in range(32)] for m in range(64)]
# expect: few_steps(x=iota(5x32,f16), w=[[j % 3 for j in range(16)] for k in range(5)]:f16, ld=32, n=32, C=5, K=16, M=32, N=16)
#     -> y == [[sum((32 * k + m) * (j % 3) for k in range(5)) for j in range(16)] for m in range(32)]
# expect: few_steps(x=iota(1x32,bf16), w=iota(1x16,bf16), ld=32, n=32, C=1, K=16, M=32, N=16)
#     -> y == [[m * j for j in range(16)] for m in range(32)]
# expect: few_steps(x=iota(2x32,i8), w=[[j - 8 for j in range(16)] for k in range(2)]:i8, ld=32, n=32, C=2, K=32, M=32, N=16)
#     -> y:i32 == [[(2 * m + 32) * (j - 8) for j in range(16)] for m in range(32)]
# expect: few_steps(x=iota(1x32,i8), w=[[j - 8 for j in range(16)]]:i8, ld=32, n=32, C=1, K=32, M=32, N=16)
#     -> y:i32 == [[m * (j - 8) for j in range(16)] for m in range(32)]
# expect: one_operand(x=iota(2x16), w=[[1 if k < 2 else nan for j in range(16)] for k in range(16)]:f32, ld=16, C=2, K=16, M=16, N=16)
#     -> y == [[nan for j in range(16)] for m in range(16)]
# expect: pixels(x=[[k * 64 + p for p in range(64)] for k in range(16)]:f32, w=[[[1 - 2 * d if k == j else 0 for j in range(16)] for k in range(16)] for d in range(2)]:f32,
#     W=9, H=7, ld=64, K=16, M=64, N=16)
#     -> y == [[(-9 if p < 54 else 64 * j + p) if p < 63 else 0 for j in range(16)] for p in range(64)]
# expect: pixels(x=[[k * 64 + p for p in range(64)] for k in range(16)]:f32, w=[[[1 - 2 * d if k == j else 0 for j in range(16)] for k in range(16)] for d in range(2)]:f32,
#     W=32, H=2, ld=64, K=16, M=64, N=16)
#     -> y == [[-32 if p < 32 else 64 * j + p for j in range(16)] for p in range(64)]
# expect: few_rows(x=[[m + k % 3 for m in range(16)] for k in range(512)]:f32, w=[[1 if k % 16 == j else 0 for k in range(512)] for j in range(16)]:f32, W=5, ld=16, K=512, M=16, N=16)
#     -> y == [[32 * m + sum(k % 3 for k in range(j, 512, 16)) for j in range(16)] for m in range(16)]
