# check: divergence[2](p=[0.5, 0.5, 0.0, 0.0, 0.25, 0.25, 0.25, 0.25]:f32, q=rand(8,f32), out=empty(2,f32), N=4)
# 0 * log(0) is NaN in the lane, and where() takes the 0 beside it.
import triton
import triton.language as tl


@triton.jit
def divergence(p, q, out, N: tl.constexpr):
    row = tl.program_id(0)
    i = tl.arange(0, N)
    a = tl.load(p + row * N + i)
    b = tl.load(q + row * N + i) + 0.01
    terms = tl.where(a > 0, a * (tl.log(a) - tl.log(b)), 0.0)
    tl.store(out + row, tl.sum(terms, axis=0))
