# nereid: compile %s:kernel --signature "*fp32" --emit tile
import triton
import triton.language as tl


@triton.jit
def kernel(p)  # error: .:14 MissingColon
    tl.store(p, 0.0)
