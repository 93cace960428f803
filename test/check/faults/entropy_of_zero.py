# check: entropy[1](p=[0.5, 0.0, 0.25, 0.25]:f32, out=empty(1,f32), N=4)
# 0 * log(0) is 0 * -inf.
import triton
import triton.language as tl


@triton.jit
def entropy(p, out, N: tl.constexpr):
    value = tl.load(p + tl.arange(0, N))
    terms = value * tl.log2(value)  # fault: . NotANumber
    tl.store(out, -tl.sum(terms, axis=0))
