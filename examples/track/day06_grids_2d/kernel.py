import triton
import triton.language as tl


@triton.jit
def add_row(x, row, out, M, N, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    batch = tl.program_id(2)  # 0 where the grid has two dimensions
    r = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    c = tl.program_id(1) * COLUMNS + tl.arange(0, COLUMNS)
    at = batch * M * N + r[:, None] * N + c[None, :]
    mask = (r[:, None] < M) & (c[None, :] < N)
    v = tl.load(x + at, mask=mask)
    w = tl.load(row + batch * N + c, mask=c < N)
    tl.store(out + at, v + w[None, :], mask=mask)
