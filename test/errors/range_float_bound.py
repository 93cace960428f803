# nereid: compile %s:kernel --signature "*fp32" --emit tile
import triton
import triton.language as tl


@triton.jit
def kernel(p):
    for i in range(0, tl.load(p)):  # error: .:14 RangeBound
        tl.store(p + i, 0.0)
