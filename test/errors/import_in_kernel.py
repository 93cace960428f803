# nereid: compile %s:kernel --signature "*fp32" --emit tile
import triton
import triton.language as tl


@triton.jit
def kernel(p):
    import math  # error: .:5 UnsupportedSyntax `import`
    tl.store(p, math.pi)
