# nereid: compile %s:kernel --signature "*fp32" --emit tile
import triton
import triton.language as tl


@triton.jit
def kernel(p):
    i = tl.arange(0, 16)
    x = tl.load(p + i, mask=tl.arange(0, 8) < 4)  # error: .:9 IncompatibleShapes
    tl.store(p + i, x)
