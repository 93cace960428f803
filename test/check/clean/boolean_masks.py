# check: select[1](x=randn(32,f32), keep=randint(32,0,2,i1), y=empty(32,f32), N=32)
import triton
import triton.language as tl


@triton.jit
def select(x, keep, y, N: tl.constexpr):
    i = tl.arange(0, N)
    chosen = tl.load(keep + i)
    tl.store(y + i, tl.load(x + i, mask=chosen, other=0.0))
