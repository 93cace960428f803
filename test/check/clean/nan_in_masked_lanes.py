# check: divide[1](x=randn(20,f32), y=full(20,2,f32), out=empty(20,f32), n=20, BLOCK=32)
# Lanes behind the end compute 0 / 0; nobody stores that.
import triton
import triton.language as tl


@triton.jit
def divide(x, y, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = i < n
    ratio = tl.load(x + i, mask=mask, other=0.0) / tl.load(y + i, mask=mask, other=0.0)
    tl.store(out + i, ratio, mask=mask)
