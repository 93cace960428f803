# nereid: compile %s:kernel --signature "*fp32" --emit tile
# A number that a kernel assigns is a run-time value, also where it was a constant before.
import triton
import triton.language as tl


@triton.jit
def kernel(p):
    B = 64
    tl.store(p + tl.arange(0, B), 0.0)  # error: .:18 NotConstexpr `end` of `tl.arange` must be known while compiling
# hint: an assigned number is a run-time value, unless it is annotated: `NAME: tl.constexpr = 64`
