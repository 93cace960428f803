import triton
import triton.language as tl


@triton.jit
def rms_norm_row(x_ptr, residual_ptr, w_ptr, y_ptr, sum_ptr, rstd_ptr, N, epsilon, BLOCK: tl.constexpr):
    """y = w x / rms(x). With a residual, x + residual takes x's place and is stored in `sum_ptr` for later layers."""
    row = tl.program_id(0).to(tl.int64)
    columns = tl.arange(0, BLOCK)
    mask = columns < N
    x = tl.load(x_ptr + row * N + columns, mask=mask, other=0.0).to(tl.float32)
    if residual_ptr is not None:
        x += tl.load(residual_ptr + row * N + columns, mask=mask, other=0.0).to(tl.float32)
        rounded = x.to(sum_ptr.dtype.element_ty)
        tl.store(sum_ptr + row * N + columns, rounded, mask=mask)
        # The backward pass sees the stored sum, so the norm is taken of that.
        x = rounded.to(tl.float32)
    rstd = 1.0 / tl.sqrt(tl.sum(x * x, axis=0) / N + epsilon)
    w = tl.load(w_ptr + columns, mask=mask, other=0.0).to(tl.float32)
    tl.store(y_ptr + row * N + columns, (x * rstd * w).to(y_ptr.dtype.element_ty), mask=mask)
    tl.store(rstd_ptr + row, rstd)


@triton.jit
def rms_norm_rows(x_ptr, w_ptr, y_ptr, rstd_ptr, M, N, epsilon, BLOCK: tl.constexpr, STAGES: tl.constexpr):
    """As many programs as the machine runs at once: weights are read once, and rows come while the ones before are worked on."""
    columns = tl.arange(0, BLOCK)
    mask = columns < N
    w = tl.load(w_ptr + columns, mask=mask, other=0.0)
    for row in tl.range(tl.program_id(0), M, tl.num_programs(0), num_stages=STAGES):
        at = tl.cast(row, tl.int64) * N + columns
        x = tl.load(x_ptr + at, mask=mask, other=0.0).to(tl.float32)
        rstd = 1.0 / tl.sqrt(tl.sum(x * x, axis=0) / N + epsilon)
        tl.store(y_ptr + at, (x * rstd * w.to(tl.float32)).to(y_ptr.dtype.element_ty), mask=mask)
        tl.store(rstd_ptr + row, rstd)


@triton.jit
def rms_norm_loop(x_ptr, w_ptr, y_ptr, rstd_ptr, N, epsilon, BLOCK: tl.constexpr):
    """Rows of any length, read twice."""
    row = tl.program_id(0).to(tl.int64)
    columns = tl.arange(0, BLOCK)
    squares = tl.zeros([BLOCK], dtype=tl.float32)
    for start in range(0, N, BLOCK):
        x = tl.load(x_ptr + row * N + start + columns, mask=start + columns < N, other=0.0).to(tl.float32)
        squares += x * x
    rstd = 1.0 / tl.sqrt(tl.sum(squares, axis=0) / N + epsilon)
    tl.store(rstd_ptr + row, rstd)
    for start in range(0, N, BLOCK):
        mask = start + columns < N
        x = tl.load(x_ptr + row * N + start + columns, mask=mask).to(tl.float32)
        w = tl.load(w_ptr + start + columns, mask=mask).to(tl.float32)
        tl.store(y_ptr + row * N + start + columns, (x * rstd * w).to(y_ptr.dtype.element_ty), mask=mask)


@triton.jit
def rms_norm_backward(x_ptr, w_ptr, dy_ptr, dsum_ptr, rstd_ptr, dx_ptr, dw_part_ptr, M, N, ROWS, BLOCK: tl.constexpr,
                      STAGES: tl.constexpr = 2):
    """ROWS neighbouring rows a program: dx of each, and their share of dw in a row of its own. The next
    row comes while one is worked on.

    With a residual x is the stored sum, and `dsum_ptr` the gradient that reached it from later layers:
    dx is then the gradient of both x and the residual. Without one `dsum_ptr` is None.
    """
    program = tl.program_id(0)
    columns = tl.arange(0, BLOCK)
    mask = columns < N
    w = tl.load(w_ptr + columns, mask=mask, other=0.0).to(tl.float32)
    dw = tl.zeros([BLOCK], dtype=tl.float32)
    for row in tl.range(program * ROWS, min(M, (program + 1) * ROWS), num_stages=STAGES):
        at = tl.cast(row, tl.int64) * N + columns
        x = tl.load(x_ptr + at, mask=mask, other=0.0).to(tl.float32)
        dy = tl.load(dy_ptr + at, mask=mask, other=0.0).to(tl.float32)
        rstd = tl.load(rstd_ptr + row)
        x_hat = x * rstd
        g = w * dy
        dx = (g - x_hat * (tl.sum(x_hat * g, axis=0) / N)) * rstd
        if dsum_ptr is not None:
            dx += tl.load(dsum_ptr + at, mask=mask, other=0.0).to(tl.float32)
        tl.store(dx_ptr + at, dx.to(dx_ptr.dtype.element_ty), mask=mask)
        dw += dy * x_hat
    tl.store(dw_part_ptr + program.to(tl.int64) * N + columns, dw, mask=mask)


@triton.jit
def sum_rows(part_ptr, out_ptr, PARTS, N, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):
    """Adds partial sums down each column, always in the same order."""
    columns = tl.program_id(0) * BLOCK_N + tl.arange(0, BLOCK_N)
    total = tl.zeros([BLOCK_M, BLOCK_N], dtype=tl.float32)
    for start in range(0, PARTS, BLOCK_M):
        rows = start + tl.arange(0, BLOCK_M)
        mask = (rows[:, None] < PARTS) & (columns[None, :] < N)
        total += tl.load(part_ptr + rows[:, None] * N + columns[None, :], mask=mask, other=0.0)
    tl.store(out_ptr + columns, tl.sum(total, axis=0).to(out_ptr.dtype.element_ty), mask=columns < N)
