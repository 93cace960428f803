# nereid: compile %s:kernel --signature "*fp32, fp32" --emit tile
import triton
import triton.language as tl


@triton.jit
def kernel(p, n):
    for i in range(n, 0, -1):  # error: .:14 RangeBound the start of a range must be a scalar integer, not `fp32`
        tl.store(p + i, 0.0)
