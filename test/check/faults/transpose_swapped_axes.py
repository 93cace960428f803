# check: transpose[4, 2](x=randn(64x32,f32), y=empty(32x64,f32), M=64, N=32, B=16)
# The grid is (rows, columns); the kernel takes its axes the other way round.
import triton
import triton.language as tl


@triton.jit
def transpose(x, y, M, N, B: tl.constexpr):
    rows = tl.program_id(1) * B + tl.arange(0, B)
    columns = tl.program_id(0) * B + tl.arange(0, B)
    tile = tl.load(x + rows[:, None] * N + columns[None, :])
    tl.store(y + columns[:, None] * M + rows[None, :], tl.trans(tile))  # fault: . OutOfBounds `y`
# Columns up to 63 of the first 32 rows still lie inside `x`.
