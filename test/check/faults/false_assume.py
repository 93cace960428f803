# check: scale[2](x=randn(40,f32), y=empty(40,f32), n=40, BLOCK=32)
# check: scale[2](x=randn(64,f32), y=empty(64,f32), n=64, BLOCK=32) -> clean
import triton
import triton.language as tl


@triton.jit
def scale(x, y, n, BLOCK: tl.constexpr):
    tl.assume(n % BLOCK == 0)  # fault: . FalseHint
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + i, tl.load(x + i, mask=i < n) * 2, mask=i < n)
