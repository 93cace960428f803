# nereid: compile %s:kernel --signature "*fp32" --emit tile
import triton
import triton.language as tl


@triton.jit
def kernel(*pointers):  # error: .:13 VariadicKernel a kernel can't have `*` or `**` parameters
    tl.store(pointers[0], 1)
# hint: write the parameters out
