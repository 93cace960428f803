# check: log_odds[1](p=[0.2, 0.5, 1.25, 0.75]:f32, out=empty(4,f32), N=4)
# A "probability" above one.
import triton
import triton.language as tl


@triton.jit
def log_odds(p, out, N: tl.constexpr):
    i = tl.arange(0, N)
    value = tl.load(p + i)
    tl.store(out + i, tl.log(value) - tl.log(1 - value))  # fault: . NotANumber
