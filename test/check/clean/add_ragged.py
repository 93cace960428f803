# check: add[2](x=randn(100,f32), y=randn(100,f32), out=empty(100,f32), n=100, BLOCK=64)
# check: add[1](x=randn(1,f32), y=randn(1,f32), out=empty(1,f32), n=1, BLOCK=64)
# Masked lanes point behind the tensors and touch nothing.
import triton
import triton.language as tl


@triton.jit
def add(x, y, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = i < n
    tl.store(out + i, tl.load(x + i, mask=mask) + tl.load(y + i, mask=mask), mask=mask)
