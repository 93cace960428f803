import triton
import triton.language as tl


@triton.jit
def product(a, b, c, M, N, K: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):
    m = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    n = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    k = tl.arange(0, K)
    x = tl.load(a + m[:, None] * K + k[None, :], mask=m[:, None] < M, other=0.0)
    y = tl.load(b + k[:, None] * N + n[None, :], mask=n[None, :] < N, other=0.0)
    # `ieee`: f32 operands are not rounded to tf32. It says nothing about f16.
    z = tl.dot(x, y, input_precision="ieee")
    tl.store(c + m[:, None] * N + n[None, :], z, mask=(m[:, None] < M) & (n[None, :] < N))
