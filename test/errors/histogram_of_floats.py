# nereid: compile %s:kernel --signature "*fp32" --emit tile
import triton
import triton.language as tl


@triton.jit
def kernel(p):
    x = tl.load(p + tl.arange(0, 8))
    tl.store(p + tl.arange(0, 8), tl.histogram(x, 8))  # error: .:35 WrongArgument takes a tile of integers
