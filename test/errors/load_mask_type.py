# nereid: compile %s:kernel --signature "*fp32" --emit tile
import triton
import triton.language as tl


@triton.jit
def kernel(p):
    i = tl.arange(0, 16)
    x = tl.load(p + i, mask=i)  # error: .:9 MaskNotBoolean `mask` has type `int32`, not `int1`
    tl.store(p + i, x)
# hint: mask != 0
