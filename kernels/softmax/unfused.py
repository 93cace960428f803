"""Softmax as five launches, each of which sends its result through memory."""
import triton
import triton.language as tl


@triton.jit
def row_max(x_ptr, out_ptr, x_stride, N, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    columns = tl.arange(0, BLOCK)
    peak = tl.full([BLOCK], -float("inf"), tl.float32)
    for start in range(0, N, BLOCK):
        x = tl.load(x_ptr + row * x_stride + start + columns, mask=start + columns < N, other=-float("inf"))
        peak = tl.maximum(peak, x.to(tl.float32))
    tl.store(out_ptr + row, tl.max(peak, axis=0))


@triton.jit
def row_sum(x_ptr, out_ptr, N, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    columns = tl.arange(0, BLOCK)
    total = tl.zeros([BLOCK], tl.float32)
    for start in range(0, N, BLOCK):
        total += tl.load(x_ptr + row * N + start + columns, mask=start + columns < N, other=0.0)
    tl.store(out_ptr + row, tl.sum(total, axis=0))


@triton.jit
def subtract_row(x_ptr, value_ptr, out_ptr, x_stride, N, BLOCK: tl.constexpr):
    """out = x - value of the row."""
    row = tl.program_id(0).to(tl.int64)
    columns = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    mask = columns < N
    x = tl.load(x_ptr + row * x_stride + columns, mask=mask).to(tl.float32)
    tl.store(out_ptr + row * N + columns, x - tl.load(value_ptr + row), mask=mask)


@triton.jit
def divide_row(x_ptr, value_ptr, out_ptr, out_stride, N, BLOCK: tl.constexpr):
    """out = x / value of the row."""
    row = tl.program_id(0).to(tl.int64)
    columns = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    mask = columns < N
    x = tl.load(x_ptr + row * N + columns, mask=mask)
    y = x / tl.load(value_ptr + row)
    tl.store(out_ptr + row * out_stride + columns, y.to(out_ptr.dtype.element_ty), mask=mask)


@triton.jit
def exponential(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    tl.store(out_ptr + offsets, tl.exp(tl.load(x_ptr + offsets, mask=mask)), mask=mask)
