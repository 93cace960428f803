# nereid: compile %s:kernel --signature "*fp32, i32" --emit tile
import triton
import triton.language as tl


@triton.jit
def kernel(p, n):
    for i in range(0, n, 0):  # error: .:14 ZeroStep the step of a range can't be 0
        tl.store(p + i, 0.0)
