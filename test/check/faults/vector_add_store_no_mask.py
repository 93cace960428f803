# check: add[2](x=randn(100,f32), y=randn(100,f32), out=empty(100,f32), n=100, BLOCK=64)
import triton
import triton.language as tl


@triton.jit
def add(x, y, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = i < n
    total = tl.load(x + i, mask=mask, other=0.0) + tl.load(y + i, mask=mask, other=0.0)
    tl.store(out + i, total)  # fault: . OutOfBounds `out`
