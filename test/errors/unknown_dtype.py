# nereid: compile %s:kernel --signature "*fp32" --emit tile
import triton
import triton.language as tl


@triton.jit
def kernel(p):
    x = tl.zeros([8], tl.float33)  # error: . NoAttribute `float33`
    tl.store(p + tl.arange(0, 8), x)
# hint: float32
