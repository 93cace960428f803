# nereid: compile %s:kernel --signature "*fp32" --emit tile
import triton
import triton.language as tl


@triton.jit
def kernel(p):
    tl.store(p, p.shape[0])  # error: . IndexError index 0 is out of range for a tuple of 0 items, as pointers and numbers have for a shape
# hint: pass the size of a tensor as an argument of its own
