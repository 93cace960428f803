# check: softmax[3](x=randn(3x50,f32), y=empty(3x50,f32), stride=50, N=50, BLOCK=64)
# The mask compares with the block's size, so it masks nothing. Rows before the last read their neighbour.
import triton
import triton.language as tl


@triton.jit
def softmax(x, y, stride, N, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    columns = tl.arange(0, BLOCK)
    mask = columns < BLOCK
    value = tl.load(x + row * stride + columns, mask=mask, other=-float("inf"))  # fault: . OutOfBounds `x`
    e = tl.exp(value - tl.max(value, axis=0))
    tl.store(y + row * stride + columns, e / tl.sum(e, axis=0), mask=columns < N)
