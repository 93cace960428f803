# check: matmul[12](a=randn(48x16,f16), b=randn(16x64,f16), c=empty(48x64,f32), M=48, N=64, K=16, B=16, GROUP=2)
# The last group of rows is smaller than GROUP, and the kernel forgets to shrink it.
import triton
import triton.language as tl


@triton.jit
def matmul(a, b, c, M, N, K, B: tl.constexpr, GROUP: tl.constexpr):
    pid = tl.program_id(0)
    across = tl.cdiv(N, B)
    in_group = GROUP * across
    first = (pid // in_group) * GROUP
    pid_m = first + pid % in_group % GROUP
    pid_n = pid % in_group // GROUP
    rows = pid_m * B + tl.arange(0, B)
    columns = pid_n * B + tl.arange(0, B)
    k = tl.arange(0, B)
    acc = tl.zeros((B, B), dtype=tl.float32)
    for start in range(0, K, B):
        left = tl.load(a + rows[:, None] * K + start + k[None, :])  # fault: . OutOfBounds `a`
        right = tl.load(b + (start + k)[:, None] * N + columns[None, :])
        acc += tl.dot(left, right)
    tl.store(c + rows[:, None] * N + columns[None, :], acc, mask=(rows < M)[:, None])
