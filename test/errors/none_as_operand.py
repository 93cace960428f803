# nereid: compile %s:kernel --signature "*fp32, None" --emit tile
import triton
import triton.language as tl


@triton.jit
def kernel(p, bias):
    tl.store(p, tl.load(p) + bias)  # error: .:17 OperandTypes
