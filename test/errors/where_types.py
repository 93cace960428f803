# nereid: compile %s:kernel --signature "*fp32, *i1" --emit tile
import triton
import triton.language as tl


@triton.jit
def kernel(p, q):
    x = tl.where(tl.load(q), p, 1.0)  # error: .:9 OperandTypes
    tl.store(x, 0.0)
