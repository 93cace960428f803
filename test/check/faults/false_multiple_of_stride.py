# check: copy[4](x=randn(4x20,f32), y=empty(4x20,f32), stride=20, N=20, BLOCK=32)
# Rows are 20 apart, which is no multiple of 16.
import triton
import triton.language as tl


@triton.jit
def copy(x, y, stride, N, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    start = tl.multiple_of(row * stride, 16)  # fault: . FalseHint
    i = tl.arange(0, BLOCK)
    value = tl.load(x + start + i, mask=i < N)
    tl.store(y + start + i, value, mask=i < N)
