# nereid: compile %s:kernel --signature "*fp32, i32" --emit tile
import triton
import triton.language as tl


@triton.jit
def kernel(p, n):
    sizes = (1, 2, 3)
    tl.store(p, sizes[n])  # error: .:17 NotConstexpr the index of
# hint: tl.static_range
