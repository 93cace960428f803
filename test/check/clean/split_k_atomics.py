# check: matmul[1, 1, 2](a=randn(16x32,f16), b=randn(32x16,f16), c=zeros(16x16,f32), K=32, B=16, PARTS=2)
import triton
import triton.language as tl


@triton.jit
def matmul(a, b, c, K, B: tl.constexpr, PARTS: tl.constexpr):
    k = tl.program_id(2) * (K // PARTS) + tl.arange(0, B)
    i = tl.arange(0, B)
    left = tl.load(a + i[:, None] * K + k[None, :])
    right = tl.load(b + k[:, None] * B + i[None, :])
    tl.atomic_add(c + i[:, None] * B + i[None, :], tl.dot(left, right), sem="relaxed")
