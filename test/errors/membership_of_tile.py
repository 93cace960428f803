# nereid: compile %s:kernel --signature "*fp32" --emit tile
import triton
import triton.language as tl


@triton.jit
def kernel(p):
    x = tl.load(p)
    tl.store(p, x if x in (1, 2) else 0.0)  # error: . TypeError
# hint: (x == 1) | (x == 2)
