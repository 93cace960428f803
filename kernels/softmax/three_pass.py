import triton
import triton.language as tl


@triton.jit
def softmax_three_pass(x_ptr, y_ptr, x_stride, y_stride, N, BLOCK: tl.constexpr):
    """The textbook order: one pass for the maximum, one for the sum, one for the result."""
    row = tl.program_id(0).to(tl.int64)
    x_row = x_ptr + row * x_stride
    y_row = y_ptr + row * y_stride
    columns = tl.arange(0, BLOCK)

    peak = -float("inf")
    for start in range(0, N, BLOCK):
        x = tl.load(x_row + start + columns, mask=start + columns < N, other=-float("inf")).to(tl.float32)
        peak = tl.maximum(peak, tl.max(x, axis=0))

    total = 0.0
    for start in range(0, N, BLOCK):
        x = tl.load(x_row + start + columns, mask=start + columns < N, other=-float("inf")).to(tl.float32)
        total += tl.sum(tl.exp(x - peak), axis=0)

    for start in range(0, N, BLOCK):
        mask = start + columns < N
        x = tl.load(x_row + start + columns, mask=mask).to(tl.float32)
        y = tl.exp(x - peak) / total
        tl.store(y_row + start + columns, y.to(y_ptr.dtype.element_ty), mask=mask)
