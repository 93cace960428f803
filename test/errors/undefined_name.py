# nereid: compile %s:kernel --signature "*fp32" --emit tile
import triton
import triton.language as tl


@triton.jit
def kernel(p):
    offsets = tl.arange(0, 8)
    tl.store(p + ofsets, 0.0)  # error: .:18 UndefinedName `ofsets` is not defined
# hint: did you mean `offsets`
