# nereid: compile %s:kernel --signature "*fp32" --emit tile
import triton
import triton.language as tl


@triton.jit
def kernel(p):
    i = tl.arange(0, 8)
    x = tl.where(i, tl.load(p + i), 0.0)  # note: .:9 ConditionNotBoolean the condition of `tl.where` has type `int32`
    tl.store(p + i, x + tl.arange(0, 16))  # error: .:21 IncompatibleShapes 8 and 16
