# check: gather[1](x=randn(64,f32), index=[0, 2, 4, 6, 8, 10, 12, 14]:i32, y=empty(8,f32), N=8)
import triton
import triton.language as tl


@triton.jit
def gather(x, index, y, N: tl.constexpr):
    i = tl.arange(0, N)
    at = tl.load(index + i)
    at = tl.max_contiguous(at, 8)  # fault: . FalseHint
    tl.store(y + i, tl.load(x + at))
