# nereid: compile %s:kernel --signature "*fp32" --emit tile
import triton
import triton.language as tl


@triton.jit
def kernel(p):
    x = tl.load(p + tl.arange(0, 8))
    tl.store(p + tl.arange(0, 8), tl.gather(x, x, 0))  # error: .:35 WrongArgument `index` of `tl.gather` must hold integers
