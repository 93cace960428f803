# check: shift(x=randn(64,f32), y=empty(64,f32), BLOCK=32)
# One element past the beginning is 4 bytes past a multiple of 16.
import triton
import triton.language as tl


@triton.jit
def shift(x, y, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    p = tl.multiple_of(x + 1 + i, 16)  # fault: . FalseHint
    tl.store(y + i, tl.load(p))
