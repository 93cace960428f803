# nereid: compile %s:kernel --signature "*fp32" --emit tile
def kernel(p):  # error: .:1 NotAKernel is a plain function, not a kernel
    return p
# hint: @triton.jit
