# nereid: compile %s:kernel --signature "*fp32, i32" --emit tile
import triton
import triton.language as tl


@triton.jit
def kernel(p, n):
    i = tl.arange(0, n)  # error: .:9 NotConstexpr run-time value
    tl.store(p + i, 0.0)
# hint: tl.constexpr
