# check: matmul[12](a=randn(48x16,f16), b=randn(16x64,f16), c=empty(48x64,f32), M=48, N=64, K=16, B=16, GROUP=2)
import triton
import triton.language as tl


@triton.jit
def matmul(a, b, c, M, N, K, B: tl.constexpr, GROUP: tl.constexpr):
    pid = tl.program_id(0)
    down, across = tl.cdiv(M, B), tl.cdiv(N, B)
    first = pid // (GROUP * across) * GROUP
    height = min(down - first, GROUP)
    rows = (first + pid % (GROUP * across) % height) * B + tl.arange(0, B)
    columns = pid % (GROUP * across) // height * B + tl.arange(0, B)
    k = tl.arange(0, B)
    acc = tl.zeros((B, B), dtype=tl.float32)
    for start in range(0, K, B):
        left = tl.load(a + rows[:, None] * K + start + k[None, :])
        right = tl.load(b + (start + k)[:, None] * N + columns[None, :])
        acc += tl.dot(left, right)
    tl.store(c + rows[:, None] * N + columns[None, :], acc)
