"""The same copy, and the same transpose, by threads that walk along memory and by threads that walk across it."""
import triton
import triton.language as tl


@triton.jit
def copy_along_rows(x_ptr, y_ptr, M, N, BLOCK: tl.constexpr):
    """Good: neighbouring threads take neighbouring elements; a warp's access is a few whole lines of memory."""
    row = tl.program_id(0).to(tl.int64)
    columns = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    mask = columns < N
    tl.store(y_ptr + row * N + columns, tl.load(x_ptr + row * N + columns, mask=mask), mask=mask)


@triton.jit
def copy_down_columns(x_ptr, y_ptr, M, N, BLOCK: tl.constexpr):
    """Bad: neighbouring threads take elements a row apart; a warp's access touches 32 lines and uses 4 bytes of each."""
    column = tl.program_id(0)
    rows = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    mask = rows < M
    at = rows.to(tl.int64) * N + column
    tl.store(y_ptr + at, tl.load(x_ptr + at, mask=mask), mask=mask)


@triton.jit
def transpose_by_rows(x_ptr, y_ptr, M, N, BLOCK: tl.constexpr):
    """Bad: whole lines are read, but each element is written to a line of its own."""
    row = tl.program_id(0)
    columns = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    mask = columns < N
    x = tl.load(x_ptr + row.to(tl.int64) * N + columns, mask=mask)
    tl.store(y_ptr + columns.to(tl.int64) * M + row, x, mask=mask)


@triton.jit
def transpose_by_tiles(x_ptr, y_ptr, M, N, BLOCK: tl.constexpr):
    """Good: a square is read along its rows, turned on the chip, and written along its columns."""
    m = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    n = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + m.to(tl.int64)[:, None] * N + n[None, :], mask=(m[:, None] < M) & (n[None, :] < N))
    tl.store(y_ptr + n.to(tl.int64)[:, None] * M + m[None, :], tl.trans(x), mask=(n[:, None] < N) & (m[None, :] < M))
