# nereid: compile %s:kernel --signature "*fp32" --emit tile
import triton
import triton.language as tl

COUNT = 0


@triton.jit
def kernel(p):
    global COUNT  # error: .:5 UnsupportedSyntax `global`
    COUNT = 1
    tl.store(p, 0.0)
