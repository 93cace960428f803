# nereid: compile %s:kernel --signature "*fp32, i32" --emit tile
import triton
import triton.language as tl


@triton.jit
def kernel(p, n):
    tl.static_assert(n > 0)  # error: .:5 NotConstexpr only known at run time
    tl.store(p, 0.0)
# hint: tl.device_assert
