# nereid: compile %s:kernel --signature "*fp32" --emit tile
import triton
import triton.language as tl

N = 10 ** (10 ** 10)  # error: . IntegerTooLarge more than 4096 bits


@triton.jit
def kernel(p):
    tl.store(p, 0.0)
