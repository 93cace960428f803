import triton
import triton.language as tl


@triton.jit
def matmul(a, b, c, M, N, K, SUMS: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr):
    m = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    n = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    acc = tl.zeros([BLOCK_M, BLOCK_N], tl.float32 if SUMS == "f32" else tl.float16)
    for start in range(0, K, BLOCK_K):
        k = start + tl.arange(0, BLOCK_K)
        # Rows and columns of 0 beyond K add nothing.
        x = tl.load(a + m[:, None] * K + k[None, :], mask=(m[:, None] < M) & (k[None, :] < K), other=0.0)
        y = tl.load(b + k[:, None] * N + n[None, :], mask=(k[:, None] < K) & (n[None, :] < N), other=0.0)
        if SUMS == "f32":
            acc = tl.dot(x, y, acc)
        else:
            acc += tl.dot(x, y).to(tl.float16)
    tl.store(c + m[:, None] * N + n[None, :], acc.to(tl.float32), mask=(m[:, None] < M) & (n[None, :] < N))
