# nereid: compile %s:kernel --signature "*fp32, i32" --emit tile
import triton
import triton.language as tl


@triton.jit
def kernel(p, n):
    tl.store(p, n(1))  # error: .:17 TypeError object is not callable
