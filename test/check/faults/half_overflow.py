# check: difference[1](x=full(16,300,f16), y=empty(16,f16), N=16)
# 300 * 300 is inf in f16, and inf - inf is NaN.
import triton
import triton.language as tl


@triton.jit
def difference(x, y, N: tl.constexpr):
    i = tl.arange(0, N)
    value = tl.load(x + i)
    square = value * value
    spread = square - tl.max(square, axis=0).to(tl.float16)  # fault: . NotANumber
    tl.store(y + i, spread)
