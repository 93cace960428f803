# nereid: compile %s:times --signature "*fp32" --emit tile
import triton
import triton.language as tl


@triton.jit
def times(p):
    y = p * 2  # error: .:9 OperandTypes
    tl.store(p, y)
