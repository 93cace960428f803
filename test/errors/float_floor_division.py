# nereid: compile %s:kernel --signature "*fp32" --emit tile
import triton
import triton.language as tl


@triton.jit
def kernel(p):
    x = tl.load(p)
    tl.store(p, x // 2.0)  # error: .:17 OperandTypes `//`
