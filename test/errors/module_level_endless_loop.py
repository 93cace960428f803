# nereid: compile %s:kernel --signature "*fp32" --emit tile
import triton
import triton.language as tl

n = 1
while n > 0:
    n = n + 1  # error: .|.-1 TooManySteps


@triton.jit
def kernel(p):
    tl.store(p, 0.0)
