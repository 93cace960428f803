# nereid: compile %s:kernel --signature "*fp32, *fp32" --emit tile
import triton
import triton.language as tl


@triton.jit
def kernel(p, q):
    tl.store(p, tl.load(q) + p)  # error: .:17 OperandTypes operands of `+` have types `fp32` and `pointer<fp32>`
# hint: a pointer moves by integers
