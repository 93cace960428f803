# nereid: compile %s:kernel --signature "*fp32" --emit tile
import triton
import triton.language as tl


@triton.jit
def kernel(p):
    for x in tl.load(p + tl.arange(0, 8)):  # error: .:14 UnsupportedIterator
        tl.store(p, x)
