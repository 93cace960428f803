# check: softmax[2, 3](x=randn(2x3x8,f32), y=empty(2x3x8,f32), stride_b=24, stride_h=8, N=8)
# Batch and head have changed places in the offset of the output.
import triton
import triton.language as tl


@triton.jit
def softmax(x, y, stride_b, stride_h, N: tl.constexpr):
    batch = tl.program_id(0)
    head = tl.program_id(1)
    i = tl.arange(0, N)
    value = tl.load(x + batch * stride_b + head * stride_h + i)
    e = tl.exp(value - tl.max(value, axis=0))
    tl.store(y + head * stride_b + batch * stride_h + i, e / tl.sum(e, axis=0))  # fault: . OutOfBounds `y`
