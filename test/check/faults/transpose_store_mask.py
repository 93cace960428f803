# check: transpose[2, 2](x=randn(20x28,f32), y=empty(28x20,f32), M=20, N=28, B=16)
# The mask of the load is used for the store, without transposing it.
import triton
import triton.language as tl


@triton.jit
def transpose(x, y, M, N, B: tl.constexpr):
    rows = tl.program_id(0) * B + tl.arange(0, B)
    columns = tl.program_id(1) * B + tl.arange(0, B)
    mask = (rows < M)[:, None] & (columns < N)[None, :]
    tile = tl.load(x + rows[:, None] * N + columns[None, :], mask=mask)
    tl.store(y + columns[:, None] * M + rows[None, :], tl.trans(tile), mask=mask)  # fault: . OutOfBounds `y`
    # fault: .-1 DataRace `y`
