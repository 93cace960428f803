# nereid: compile %s:kernel --signature "*fp32" --emit tile
import triton
import triton.language as tl


@triton.jit
def kernel(p):
    return tl.load(p)  # error: .:5 KernelReturnsValue a kernel can't return a value
# hint: store it through a pointer
