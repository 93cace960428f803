# nereid: compile %s:kernel --signature "*fp32" --emit tile
import triton
import triton.language as tl


@triton.jit
def kernel(p):
    x = tl.zeros([8], tl.float32)
    x[0] = 1.0  # error: .:5 UnsupportedSyntax elements of a tile can't be assigned to
    tl.store(p + tl.arange(0, 8), x)
# hint: tl.where
