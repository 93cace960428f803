# check: copy_row[1](x=randn(64,f32), y=empty(64,f32), row=40000, first=40000, stride=65536, N=64)
# In 64 bits the row's offset is exact.
import triton
import triton.language as tl


@triton.jit
def copy_row(x, y, row, first, stride, N: tl.constexpr):
    i = tl.arange(0, N)
    offset = row.to(tl.int64) * stride - first.to(tl.int64) * stride
    tl.store(y + i, tl.load(x + offset + i))
