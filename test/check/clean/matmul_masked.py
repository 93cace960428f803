# check: matmul[3, 2](a=randn(40x24,f16), b=randn(24x20,f16), c=empty(40x20,f32), M=40, N=20, K=24, B=16)
import triton
import triton.language as tl


@triton.jit
def matmul(a, b, c, M, N, K, B: tl.constexpr):
    rows = tl.program_id(0) * B + tl.arange(0, B)
    columns = tl.program_id(1) * B + tl.arange(0, B)
    acc = tl.zeros((B, B), dtype=tl.float32)
    for start in range(0, K, B):
        k = start + tl.arange(0, B)
        left = tl.load(a + rows[:, None] * K + k[None, :], mask=(rows < M)[:, None] & (k < K)[None, :], other=0.0)
        right = tl.load(b + k[:, None] * N + columns[None, :], mask=(k < K)[:, None] & (columns < N)[None, :], other=0.0)
        acc += tl.dot(left, right)
    tl.store(c + rows[:, None] * N + columns[None, :], acc, mask=(rows < M)[:, None] & (columns < N)[None, :])
