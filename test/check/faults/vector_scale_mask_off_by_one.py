# check: scale[2](x=randn(100,f32), out=empty(101,f32), n=100, factor=2.0, BLOCK=64)
# The mask lets one element too many through.
import triton
import triton.language as tl


@triton.jit
def scale(x, out, n, factor, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = i <= n
    value = tl.load(x + i, mask=mask)  # fault: . OutOfBounds `x`
    tl.store(out + i, value * factor, mask=mask)
