# nereid: compile %s:kernel --signature "*fp32" --emit tile
import triton
import triton.language as tl


@triton.jit
def kernel(p):
    class Pair:  # error: .:5 UnsupportedSyntax a nested class
        pass
    tl.store(p, 0.0)
# hint: define it at module level
