# nereid: compile %s:kernel --signature "*fp32" --emit tile
import triton
import triton.language as tl


@triton.jit
def kernel(p):
    i = tl.arange(0, 8)
    x = tl.load(p + i, i < 4, mask=i < 4)  # error: .:9 RepeatedArgument two values for `mask`
    tl.store(p + i, x)
