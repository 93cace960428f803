# nereid: compile %s:kernel --signature "*fp32" --emit tile
import triton
import triton.language as tl


@triton.jit
def kernel(p):
    for c in "abc":  # error: .:14 UnsupportedIterator a `for` loop in a kernel can't run over a `str`
        tl.store(p, 0.0)
# hint: tl.static_range
