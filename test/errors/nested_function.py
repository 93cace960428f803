# nereid: compile %s:kernel --signature "*fp32" --emit tile
import triton
import triton.language as tl


@triton.jit
def kernel(p):
    def inner(a):  # error: .:5 UnsupportedSyntax a nested function is not part of the kernel language
        return a

    tl.store(p, inner(1.0))
# hint: under `@triton.jit`
