# nereid: compile %s:kernel --signature "*fp32" --emit tile
import triton


@triton.jit
def kernel(p):
    return


launched = kernel


def kernel(p):  # error: .:1 NotAKernel `kernel` is a plain function, which takes the place of the kernel of line 6
    launched[(1,)](p)
# hint: that kernel is `launched`, too
