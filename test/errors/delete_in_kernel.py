# nereid: compile %s:kernel --signature "*fp32" --emit tile
import triton
import triton.language as tl


@triton.jit
def kernel(p):
    x = tl.load(p)
    del x  # error: .:5 UnsupportedSyntax `del`
    tl.store(p, 0.0)
