# nereid: compile %s:kernel --signature "*fp32, i32" --emit tile
import triton
import triton.language as tl


@triton.jit
def kernel(p, n):
    for i in tl.static_range(n):  # error: .:14 NotConstexpr must be known while compiling
        tl.store(p + i, 0.0)
# hint: tl.range
