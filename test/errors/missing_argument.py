# nereid: compile %s:kernel --signature "*fp32" --emit tile
import triton
import triton.language as tl


@triton.jit
def kernel(p):
    x = tl.load(p + tl.arange(0, 8))
    y = tl.where(x > 0, x)  # error: .:9 MissingArgument `tl.where` needs a value for `y`
    tl.store(p + tl.arange(0, 8), y)
