# nereid: compile %s:kernel --signature "*fp32" --emit tile
import triton
import triton.language as tl


@triton.jit
def kernel(p):
    x = tl.load(p + tl.arange(0, 8))
    tl.store(p + tl.arange(0, 16), tl.cat(x, x))  # error: .:36 WrongArgument keeps no order
# hint: can_reorder=True
