# nereid: compile %s:kernel --signature "*fp32" --emit tile
import triton
import triton.language as tl


@triton.jit
def kernel(p):
    tl.assume(1 > 2)  # error: .:5 FalseAssumption
    tl.store(p, 0.0)
