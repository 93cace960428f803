# check: copy_row[1](x=randn(64,f32), y=empty(64,f32), row=40000, stride=65536, N=64)
# 40000 * 65536 does not fit 32 bits, and the row wraps to before the tensor.
import triton
import triton.language as tl


@triton.jit
def copy_row(x, y, row, stride, N: tl.constexpr):
    i = tl.arange(0, N)
    offset = row * stride  # fault: . AddressOverflow
    value = tl.load(x + offset + i)  # maybe: . OutOfBounds
    tl.store(y + i, value)
