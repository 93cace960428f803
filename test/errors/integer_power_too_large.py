# nereid: compile %s:kernel --signature "*fp32" --emit tile
import triton
import triton.language as tl


@triton.jit
def kernel(p):
    x: tl.constexpr = 7 ** (10 ** 9)  # error: .:23 IntegerTooLarge more than 4096 bits
    tl.store(p, x)
