# check: reverse[2](x=randn(64,f32), BLOCK=32)
import triton
import triton.language as tl


@triton.jit
def reverse(x, BLOCK: tl.constexpr):
    base = x + tl.program_id(0) * BLOCK
    i = tl.arange(0, BLOCK)
    value = tl.load(base + BLOCK - 1 - i)
    tl.store(base + i, value)  # fault: . MissingBarrier `x`
