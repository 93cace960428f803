# nereid: compile %s:kernel --signature "*fp32, i32" --emit tile
import triton
import triton.language as tl


@triton.jit
def kernel(p, n):
    tl.store(p + tl.arange(0, n), 0.0)  # error: .:18 NotConstexpr `end` of `tl.arange` must be known while compiling
# hint: annotate the kernel's parameter with `tl.constexpr`
