# check: expand[1](x=randn(8,f32), index=[3, 3, 3, 4, 4, 4, 4, 4]:i32, y=empty(8,f32), N=8)
# Groups of four share an index, except the first.
import triton
import triton.language as tl


@triton.jit
def expand(x, index, y, N: tl.constexpr):
    i = tl.arange(0, N)
    at = tl.max_constancy(tl.load(index + i), 4)  # fault: . FalseHint
    tl.store(y + i, tl.load(x + at))
