# check: matmul[2](a=randn(48x16,f16), b=randn(16x32,f16), c=empty(48x32,f32), M=48, N=32, K=16, B=16)
import triton
import triton.language as tl


@triton.jit
def matmul(a, b, c, M, N, K, B: tl.constexpr):
    across = tl.cdiv(N, B)
    i = tl.arange(0, B)
    for tile in range(tl.program_id(0), tl.cdiv(M, B) * across, tl.num_programs(0)):
        rows = tile // across * B + i
        columns = tile % across * B + i
        acc = tl.zeros((B, B), dtype=tl.float32)
        for start in range(0, K, B):
            left = tl.load(a + rows[:, None] * K + start + i[None, :])
            right = tl.load(b + (start + i)[:, None] * N + columns[None, :])
            acc += tl.dot(left, right)
        tl.store(c + rows[:, None] * N + columns[None, :], acc)
