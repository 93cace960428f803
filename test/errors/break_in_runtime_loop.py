# nereid: compile %s:kernel --signature "*fp32, i32" --emit tile
import triton
import triton.language as tl


@triton.jit
def kernel(p, n):
    for i in range(0, n):
        if tl.load(p + i) > 0:
            break  # error: .:13 UnsupportedSyntax `break`
        tl.store(p + i, 0.0)
