# nereid: compile %s:kernel --signature "*fp32" --emit tile
import triton
import triton.language as tl


@triton.jit
def kernel(p):
    i = tl.arange(8, 8)  # error: .:9 ArangeRange is empty
    tl.store(p + i, 0.0)
# hint: greater than the start
