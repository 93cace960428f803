import triton
import triton.language as tl


@triton.jit
def third(x, out, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(x + i) * 0.333)
