# nereid: compile %s:kernel --signature "*fp32" --emit tile
import triton
import triton.language as tl

n = 1
while n > 0:
    n = n + 1  # note: .|.-1 TooManySteps


@triton.jit
def kernel(p):
    length: tl.constexpr = n  # error: .|.-1 ModuleLevelFailure
    tl.store(p, length)
