# check: add[2](x=randn(100,f32), y=randn(100,f32), out=empty(100,f32), n=100, BLOCK=64)
# check: add[2](x=randn(128,f32), y=randn(128,f32), out=empty(128,f32), n=128, BLOCK=64) -> clean
# One of two loads has lost its mask; only a ragged size shows it.
import triton
import triton.language as tl


@triton.jit
def add(x, y, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = i < n
    a = tl.load(x + i, mask=mask)
    b = tl.load(y + i)  # fault: . OutOfBounds `y`
    tl.store(out + i, a + b, mask=mask)
