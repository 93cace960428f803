# check: matmul[3, 2](a=randn(40x16,f16), b=randn(16x20,f16), c=empty(40x20,f32), M=40, N=20, K=16, B=16)
# Rows and columns wrap round instead of being masked: wrong lanes compute something, and store nothing.
import triton
import triton.language as tl


@triton.jit
def matmul(a, b, c, M, N, K, B: tl.constexpr):
    rows = tl.program_id(0) * B + tl.arange(0, B)
    columns = tl.program_id(1) * B + tl.arange(0, B)
    k = tl.arange(0, B)
    a_block = a + (rows % M)[:, None] * K + k[None, :]
    b_block = b + k[:, None] * N + (columns % N)[None, :]
    acc = tl.zeros((B, B), dtype=tl.float32)
    for _ in range(0, K, B):
        acc += tl.dot(tl.load(a_block), tl.load(b_block))
        a_block += B
        b_block += B * N
    tl.store(c + rows[:, None] * N + columns[None, :], acc, mask=(rows < M)[:, None] & (columns < N)[None, :])
