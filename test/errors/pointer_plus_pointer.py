# nereid: compile %s:kernel --signature "*fp32" --emit tile
import triton
import triton.language as tl


@triton.jit
def kernel(p):
    tl.store(p + p, 0.0)  # error: .:14 OperandTypes
