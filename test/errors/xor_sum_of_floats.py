# nereid: compile %s:kernel --signature "*fp32" --emit tile
import triton
import triton.language as tl


@triton.jit
def kernel(p):
    tl.store(p, tl.xor_sum(tl.load(p + tl.arange(0, 8)), 0))  # error: .:17 UnsupportedDType takes integers
