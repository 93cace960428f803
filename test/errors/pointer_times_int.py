# nereid: compile %s:kernel --signature "*fp32, i32" --emit tile
import triton
import triton.language as tl


@triton.jit
def kernel(p, n):
    tl.store(p * n, 0.0)  # error: .:14 OperandTypes
