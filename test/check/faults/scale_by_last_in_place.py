# check: scale[2](x=randn(64,f32), BLOCK=32)
# Each thread loads the last element, which one of them overwrites.
import triton
import triton.language as tl


@triton.jit
def scale(x, BLOCK: tl.constexpr):
    base = x + tl.program_id(0) * BLOCK
    i = tl.arange(0, BLOCK)
    last = tl.load(base + BLOCK - 1)
    value = tl.load(base + i)
    tl.store(base + i, value * last)  # fault: . MissingBarrier `x`
