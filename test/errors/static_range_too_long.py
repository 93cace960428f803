# nereid: compile %s:kernel --signature "*fp32" --emit tile
import triton
import triton.language as tl


@triton.jit
def kernel(p):
    for i in tl.static_range(10**9):  # error: .:14 TooManySteps
        tl.store(p + i, 0.0)
