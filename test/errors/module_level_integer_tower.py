# nereid: compile %s:kernel --signature "*fp32" --emit tile
import triton
import triton.language as tl

N = 10 ** (10 ** 10)  # note: .:5 IntegerTooLarge more than 4096 bits


@triton.jit
def kernel(p):
    tl.store(p, N)  # error: .:17 ModuleLevelFailure `N` has no value
