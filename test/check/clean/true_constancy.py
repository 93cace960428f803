# check: expand[1](x=randn(8,f32), y=empty(32,f32), N=32)
import triton
import triton.language as tl


@triton.jit
def expand(x, y, N: tl.constexpr):
    i = tl.arange(0, N)
    at = tl.max_constancy(i // 4, 4)
    tl.store(y + i, tl.load(x + at))
