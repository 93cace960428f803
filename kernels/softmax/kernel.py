import triton
import triton.language as tl

# The least finite f32. A running maximum starts here rather than at -inf, so that a block of -inf
# gives exp(-inf - LOWEST) = 0 and not exp(-inf + inf) = NaN.
LOWEST = tl.constexpr(-3.4028234663852886e38)


@triton.jit
def softmax_row(x_ptr, y_ptr, x_stride, y_stride, N, BLOCK: tl.constexpr):
    """One row a program, the whole row held at once: one read and one write of each element."""
    row = tl.program_id(0).to(tl.int64)
    columns = tl.arange(0, BLOCK)
    mask = columns < N
    x = tl.load(x_ptr + row * x_stride + columns, mask=mask, other=-float("inf")).to(tl.float32)
    e = tl.exp(x - tl.max(x, axis=0))
    y = e / tl.sum(e, axis=0)
    tl.store(y_ptr + row * y_stride + columns, y.to(y_ptr.dtype.element_ty), mask=mask)


@triton.jit
def softmax_rows(x_ptr, y_ptr, x_stride, y_stride, M, N, BLOCK: tl.constexpr, STAGES: tl.constexpr):
    """As many programs as the machine runs at once; each loads its next row while it works on this one."""
    columns = tl.arange(0, BLOCK)
    mask = columns < N
    for row in tl.range(tl.program_id(0), M, tl.num_programs(0), num_stages=STAGES):
        at = tl.cast(row, tl.int64)
        x = tl.load(x_ptr + at * x_stride + columns, mask=mask, other=-float("inf")).to(tl.float32)
        e = tl.exp(x - tl.max(x, axis=0))
        y = e / tl.sum(e, axis=0)
        tl.store(y_ptr + at * y_stride + columns, y.to(y_ptr.dtype.element_ty), mask=mask)


@triton.jit
def softmax_online(x_ptr, y_ptr, x_stride, y_stride, N, BLOCK: tl.constexpr):
    """Rows of any length: maximum and sum in one pass, the result in a second one.

    Each lane keeps a maximum and a sum of its own; lanes meet once, after the loop.
    """
    row = tl.program_id(0).to(tl.int64)
    x_row = x_ptr + row * x_stride
    y_row = y_ptr + row * y_stride
    columns = tl.arange(0, BLOCK)

    m = tl.full([BLOCK], LOWEST, tl.float32)
    s = tl.zeros([BLOCK], tl.float32)
    for start in range(0, N, BLOCK):
        x = tl.load(x_row + start + columns, mask=start + columns < N, other=-float("inf")).to(tl.float32)
        m_new = tl.maximum(m, x)
        s = s * tl.exp(m - m_new) + tl.exp(x - m_new)
        m = m_new

    peak = tl.max(m, axis=0)
    total = tl.sum(s * tl.exp(m - peak), axis=0)
    for start in range(0, N, BLOCK):
        mask = start + columns < N
        x = tl.load(x_row + start + columns, mask=mask).to(tl.float32)
        y = tl.exp(x - peak) / total
        tl.store(y_row + start + columns, y.to(y_ptr.dtype.element_ty), mask=mask)


@triton.jit
def softmax_backward_row(y_ptr, dy_ptr, dx_ptr, N, BLOCK: tl.constexpr):
    """dx = y * (dy - sum(y * dy)), contiguous rows."""
    row = tl.program_id(0).to(tl.int64) * N
    columns = tl.arange(0, BLOCK)
    mask = columns < N
    y = tl.load(y_ptr + row + columns, mask=mask, other=0.0).to(tl.float32)
    dy = tl.load(dy_ptr + row + columns, mask=mask, other=0.0).to(tl.float32)
    dx = y * (dy - tl.sum(y * dy, axis=0))
    tl.store(dx_ptr + row + columns, dx.to(dx_ptr.dtype.element_ty), mask=mask)
