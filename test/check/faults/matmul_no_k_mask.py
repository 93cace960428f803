# check: matmul[2, 2](a=randn(32x40,f16), b=randn(40x32,f16), c=empty(32x32,f32), M=32, N=32, K=40, BM=16, BN=16, BK=32)
# K is no multiple of BLOCK_K, and only one operand is masked along it.
import triton
import triton.language as tl


@triton.jit
def matmul(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    columns = tl.program_id(1) * BN + tl.arange(0, BN)
    k = tl.arange(0, BK)
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for start in range(0, K, BK):
        inside = start + k < K
        left = tl.load(a + rows[:, None] * K + start + k[None, :], mask=inside[None, :], other=0.0)
        right = tl.load(b + (start + k)[:, None] * N + columns[None, :])  # fault: . OutOfBounds `b`
        acc += tl.dot(left, right)
    tl.store(c + rows[:, None] * N + columns[None, :], acc)
