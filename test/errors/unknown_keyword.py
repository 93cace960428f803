# nereid: compile %s:kernel --signature "*fp32" --emit tile
import triton
import triton.language as tl


@triton.jit
def kernel(p):
    i = tl.arange(0, 8)
    x = tl.load(p + i, masks=i < 4)  # error: .:9 UnknownArgument has no parameter `masks`
    tl.store(p + i, x)
# hint: mask
