# nereid: compile %s:kernel --signature "*fp32" --emit tile
import triton
import triton.language as tl


@triton.jit
def kernel(p):
    tl.store(p + tl.arange(0, 16) / 2, 0.0)  # error: . OperandTypes operands of `+` have types
# hint: `//` divides them
