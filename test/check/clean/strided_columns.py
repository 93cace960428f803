# check: column_sums[4](x=randn(10x8,f32), y=empty(8,f32), M=10, N=8, stride=8, BM=16, BN=2)
import triton
import triton.language as tl


@triton.jit
def column_sums(x, y, M, N, stride, BM: tl.constexpr, BN: tl.constexpr):
    columns = tl.program_id(0) * BN + tl.arange(0, BN)
    rows = tl.arange(0, BM)
    tile = tl.load(x + rows[:, None] * stride + columns[None, :], mask=(rows < M)[:, None] & (columns < N)[None, :], other=0.0)
    tl.store(y + columns, tl.sum(tile, axis=0), mask=columns < N)
