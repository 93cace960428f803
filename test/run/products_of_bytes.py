# run: ref cpu gpu
# Products of floats of 8 bits with fewer rows than warp groups take.
import triton
import triton.language as tl


@triton.jit
def product(x, w, y, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr, LEFT: tl.constexpr, RIGHT: tl.constexpr):
    m, j, k = tl.arange(0, M), tl.arange(0, N), tl.arange(0, K)
    a = tl.load(x + m[:, None] * K + k[None, :]).to(LEFT)
    b = tl.load(w + k[:, None] * N + j[None, :]).to(RIGHT)
    tl.store(y + m[:, None] * N + j[None, :], tl.dot(a, b, tl.full((M, N), 0.5, tl.float32)))

# expect: product(x=[[(3 * m + k) % 9 - 4 for k in range(64)] for m in range(16)]:f16, w=[[k * (j + 1) % 7 - 2 for j in range(16)] for k in range(64)]:f16,
#     M=16, N=16, K=64, LEFT=tl.float8e4nv, RIGHT=tl.float8e4nv)
#     -> y:f32 == [[0.5 + sum(((3 * m + k) % 9 - 4) * (k * (j + 1) % 7 - 2) for k in range(64)) for j in range(16)] for m in range(16)]
# expect: product(x=[[(3 * m + k) % 9 - 4 for k in range(32)] for m in range(32)]:f16, w=[[k * (j + 1) % 7 - 2 for j in range(16)] for k in range(32)]:f16,
#     M=32, N=16, K=32, LEFT=tl.float8e4nv, RIGHT=tl.float8e5)
#     -> y:f32 == [[0.5 + sum(((3 * m + k) % 9 - 4) * (k * (j + 1) % 7 - 2) for k in range(32)) for j in range(16)] for m in range(32)]
