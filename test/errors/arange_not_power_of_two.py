# nereid: compile %s:kernel --signature "*fp32" --emit tile
import triton
import triton.language as tl


@triton.jit
def kernel(p):
    i = tl.arange(0, 100)  # error: .:9 ShapeNotPowerOfTwo power of two
    tl.store(p + i, 0.0)
# hint: 128
