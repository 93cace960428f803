# check: matmul[1, 1, 2](a=randn(16x32,f16), b=randn(32x16,f16), c=empty(16x16,f32), K=32, B=16, PARTS=2)
# check: matmul[1, 1, 2](a=randn(16x32,f16), b=randn(32x16,f16), c=zeros(16x16,f32), K=32, B=16, PARTS=2) -> clean
# Each part adds to the output, which nobody has zeroed.
import triton
import triton.language as tl


@triton.jit
def matmul(a, b, c, K, B: tl.constexpr, PARTS: tl.constexpr):
    part = tl.program_id(2)
    i = tl.arange(0, B)
    k = part * (K // PARTS) + i
    left = tl.load(a + i[:, None] * K + k[None, :])
    right = tl.load(b + k[:, None] * B + i[None, :])
    tl.atomic_add(c + i[:, None] * B + i[None, :], tl.dot(left, right))  # fault: . UninitialisedRead `c`
