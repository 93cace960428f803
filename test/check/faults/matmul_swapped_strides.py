# check: matmul[1, 4](a=randn(16x32,f16), b=randn(32x64,f16), c=empty(16x64,f32),
#     stride_bk=64, stride_bn=1, K=32, N=64, BM=16, BN=16, BK=16)
# The two strides of `b` have changed places.
import triton
import triton.language as tl


@triton.jit
def matmul(a, b, c, stride_bk, stride_bn, K, N, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    columns = tl.program_id(1) * BN + tl.arange(0, BN)
    k = tl.arange(0, BK)
    b_block = b + k[:, None] * stride_bn + columns[None, :] * stride_bk
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for start in range(0, K, BK):
        left = tl.load(a + rows[:, None] * K + start + k[None, :])
        right = tl.load(b_block)  # fault: . OutOfBounds `b`
        acc += tl.dot(left, right)
        b_block += BK * stride_bk
    tl.store(c + rows[:, None] * N + columns[None, :], acc)
