# nereid: compile %s:kernel --signature "*fp32" --emit tile
import triton
import triton.language as tl


@triton.jit
def kernel(p):
    yield tl.load(p)  # error: .:5 UnsupportedSyntax `yield` is not part of the kernel language
# hint: return a tuple, or write results through a pointer
