# check: matmul_rows[3](a=randn(24x16,f32), out=empty(24x16,f32), M=24, B=16, K=16)
# Rows wrap round at M, so the last block is not contiguous; the usual hint promises that it is.
import triton
import triton.language as tl


@triton.jit
def matmul_rows(a, out, M, B: tl.constexpr, K: tl.constexpr):
    rows = (tl.program_id(0) * B + tl.arange(0, B)) % M
    rows = tl.max_contiguous(tl.multiple_of(rows, 8), B)  # fault: . FalseHint
    k = tl.arange(0, K)
    tile = tl.load(a + rows[:, None] * K + k[None, :])
    mask = (tl.program_id(0) * B + tl.arange(0, B) < M)[:, None]
    tl.store(out + rows[:, None] * K + k[None, :], tile, mask=mask)
