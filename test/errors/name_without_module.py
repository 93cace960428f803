# nereid: compile %s:kernel --signature "*fp32" --emit tile
import triton
import triton.language as tl


@triton.jit
def kernel(p):
    i = arange(0, 8)  # error: .:9 UndefinedName `arange` is not defined
    tl.store(p + i, 0.0)
# hint: did you mean `tl.arange`?
