# nereid: compile %s:kernel --signature "*fp32" --emit tile
import triton
import triton.language as tl


@triton.jit
def kernel(p):
    sizes: tl.constexpr = (1, 2, 3)
    tl.store(p, sizes[3])  # error: .:17 IndexError out of range
