# check: add[4](x=randn(100,f32), y=randn(100,f32), n=100, BLOCK=32)
import triton
import triton.language as tl


@triton.jit
def add(x, y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = i < n
    tl.store(x + i, tl.load(x + i, mask=mask) + tl.load(y + i, mask=mask), mask=mask)
