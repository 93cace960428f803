import triton
import triton.language as tl

LOG2E = tl.constexpr(1.4426950408889634)
LN2 = tl.constexpr(0.6931471805599453)
# The least finite f32. A running maximum starts here rather than at -inf, so that a lane that has
# seen nothing but -inf gives exp2(-inf - LOWEST) = 0 and not exp2(-inf + inf) = NaN.
LOWEST = tl.constexpr(-3.4028234663852886e38)


@triton.jit
def log_softmax_row(x_ptr, y_ptr, x_stride, y_stride, N, BLOCK: tl.constexpr):
    """One row a program, the whole row held at once: y = (x - max) - log(sum of exp(x - max))."""
    row = tl.program_id(0).to(tl.int64)
    columns = tl.arange(0, BLOCK)
    mask = columns < N
    x = tl.load(x_ptr + row * x_stride + columns, mask=mask, other=-float("inf")).to(tl.float32)
    x -= tl.max(x, axis=0)
    y = x - tl.log2(tl.sum(tl.exp2(x * LOG2E), axis=0)) * LN2
    tl.store(y_ptr + row * y_stride + columns, y.to(y_ptr.dtype.element_ty), mask=mask)


@triton.jit
def log_softmax_online(x_ptr, y_ptr, x_stride, y_stride, N, BLOCK: tl.constexpr):
    """Rows of any length, read twice.

    Each lane keeps a maximum and a sum of its own. Of the old sum and the new element one has the
    maximum, so that a single exponential, exp2(-|x - m|), scales the other.
    """
    row = tl.program_id(0).to(tl.int64)
    x_row = x_ptr + row * x_stride
    y_row = y_ptr + row * y_stride
    columns = tl.arange(0, BLOCK)

    m = tl.full([BLOCK], LOWEST, tl.float32)
    s = tl.zeros([BLOCK], tl.float32)
    for start in range(0, N, BLOCK):
        x = tl.load(x_row + start + columns, mask=start + columns < N, other=-float("inf")).to(tl.float32)
        above = (x - m) * LOG2E
        e = tl.exp2(-tl.abs(above))
        s = tl.where(above > 0, s * e + 1.0, s + e)
        m = tl.maximum(m, x)

    peak = tl.max(m, axis=0)
    total = tl.log2(tl.sum(s * tl.exp2((m - peak) * LOG2E), axis=0)) * LN2
    for start in range(0, N, BLOCK):
        mask = start + columns < N
        x = tl.load(x_row + start + columns, mask=mask).to(tl.float32)
        tl.store(y_row + start + columns, (x - peak - total).to(y_ptr.dtype.element_ty), mask=mask)


@triton.jit
def log_softmax_backward_row(y_ptr, dy_ptr, dx_ptr, N, BLOCK: tl.constexpr):
    """dx = dy - exp(y) * sum(dy), contiguous rows."""
    row = tl.program_id(0).to(tl.int64) * N
    columns = tl.arange(0, BLOCK)
    mask = columns < N
    y = tl.load(y_ptr + row + columns, mask=mask, other=0.0).to(tl.float32)
    dy = tl.load(dy_ptr + row + columns, mask=mask, other=0.0).to(tl.float32)
    dx = dy - tl.exp2(y * LOG2E) * tl.sum(dy, axis=0)
    tl.store(dx_ptr + row + columns, dx.to(dx_ptr.dtype.element_ty), mask=mask)


@triton.jit
def log_softmax_backward_loop(y_ptr, dy_ptr, dx_ptr, N, BLOCK: tl.constexpr):
    """Rows of any length: dy is read twice, y once."""
    row = tl.program_id(0).to(tl.int64) * N
    columns = tl.arange(0, BLOCK)
    sums = tl.zeros([BLOCK], tl.float32)
    for start in range(0, N, BLOCK):
        sums += tl.load(dy_ptr + row + start + columns, mask=start + columns < N, other=0.0).to(tl.float32)
    total = tl.sum(sums, axis=0)
    for start in range(0, N, BLOCK):
        mask = start + columns < N
        y = tl.load(y_ptr + row + start + columns, mask=mask).to(tl.float32)
        dy = tl.load(dy_ptr + row + start + columns, mask=mask).to(tl.float32)
        dx = dy - tl.exp2(y * LOG2E) * total
        tl.store(dx_ptr + row + start + columns, dx.to(dx_ptr.dtype.element_ty), mask=mask)
