# nereid: compile %s:kernel --signature "*fp32" --emit tile
import triton
import triton.language as tl


@triton.jit
def kernel(p):
    i = tl.arange(0, 16)
    x = tl.load(p + i, mask=tl.arange(0, 8) < 4)  # error: .:9 IncompatibleShapes `mask` of `tl.load` has shape [8], but the pointers have shape [16]
    tl.store(p + i, x)
# hint: compute the mask from the offsets that the pointers have
