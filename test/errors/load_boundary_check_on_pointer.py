# nereid: compile %s:kernel --signature "*fp32" --emit tile
import triton
import triton.language as tl


@triton.jit
def kernel(p):
    x = tl.load(p + tl.arange(0, 8), boundary_check=(0,))  # error: .:9 WrongArgument is for block pointers only
    tl.store(p, tl.sum(x, 0))
# hint: mask
