# nereid: compile %s:kernel --signature "*fp32" --emit tile
import triton
import triton.language as tl


@triton.jit
def kernel(p):
    parts = [tl.load(p), tl.load(p + 1)]
    parts[0] = 0.0  # error: .:5 UnsupportedSyntax items of a tuple can't be assigned to
    tl.store(p, parts[0])
# hint: lists in kernels are tuples
