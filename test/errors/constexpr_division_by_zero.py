# nereid: compile %s:kernel --signature "*fp32, 0" --emit tile
import triton
import triton.language as tl


@triton.jit
def kernel(p, N: tl.constexpr):
    x: tl.constexpr = 100 // N  # error: .:23 ZeroDivisionError
    tl.store(p, x)
