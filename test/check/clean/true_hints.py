# check: copy[4](x=randn(4x32,f32), y=empty(4x32,f32), stride=32, N=20, BLOCK=32)
import triton
import triton.language as tl


@triton.jit
def copy(x, y, stride, N, BLOCK: tl.constexpr):
    tl.assume(stride % 16 == 0)
    start = tl.multiple_of(tl.program_id(0) * stride, 16)
    i = tl.max_contiguous(tl.arange(0, BLOCK), BLOCK)
    tl.store(y + start + i, tl.load(x + start + i, mask=i < N), mask=i < N)
