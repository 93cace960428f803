# nereid: compile %s:kernel --signature "*fp32" --emit tile
import triton
import triton.language as tl


@triton.jit
def kernel(p):
    x = tl.load(p, mask=tl.arange(0, 8) < 4)  # error: .:9 IncompatibleShapes `mask` of `tl.load` has shape
    tl.store(p + tl.arange(0, 8), x)
# hint: tl.arange
