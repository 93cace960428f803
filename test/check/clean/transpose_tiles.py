# check: transpose[2, 2](x=randn(20x28,f32), y=empty(28x20,f32), M=20, N=28, B=16)
import triton
import triton.language as tl


@triton.jit
def transpose(x, y, M, N, B: tl.constexpr):
    rows = tl.program_id(0) * B + tl.arange(0, B)
    columns = tl.program_id(1) * B + tl.arange(0, B)
    tile = tl.load(x + rows[:, None] * N + columns[None, :], mask=(rows < M)[:, None] & (columns < N)[None, :])
    tl.store(y + columns[:, None] * M + rows[None, :], tl.trans(tile), mask=(columns < N)[:, None] & (rows < M)[None, :])
