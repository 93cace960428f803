# check: reverse[2](x=randn(40,f32), y=empty(40,f32), n=40, stride=-1, BLOCK=32)
import triton
import triton.language as tl


@triton.jit
def reverse(x, y, n, stride, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    last = x + n - 1
    tl.store(y + i, tl.load(last + i * stride, mask=i < n), mask=i < n)
