# check: softmax[4](x=randn(4x64,f32), y=empty(4x48,f32), x_stride=64, y_stride=48, N=48, BLOCK=64)
# The output's rows are addressed with the input's stride.
import triton
import triton.language as tl


@triton.jit
def softmax(x, y, x_stride, y_stride, N, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    columns = tl.arange(0, BLOCK)
    mask = columns < N
    value = tl.load(x + row * x_stride + columns, mask=mask, other=-float("inf"))
    e = tl.exp(value - tl.max(value, axis=0))
    tl.store(y + row * x_stride + columns, e / tl.sum(e, axis=0), mask=mask)  # fault: . OutOfBounds `y`
