# nereid: compile %s:kernel --signature "*fp32, i32" --emit tile
import triton
import triton.language as tl


@triton.jit
def kernel(p, n):
    m: tl.constexpr = n * 2
    tl.store(p + m, 1.0)
    tl.store(p + tl.arange(0, m), 0.0)  # error: .:18 NotConstexpr run-time value
# hint: tl.constexpr
