# nereid: compile %s:kernel --signature "*fp32" --emit tile
import triton
import triton.language as tl


@triton.jit
def kernel(p):
    i = tl.arange(0, 8)
    tl.store(p + i, tl.load(p + i).astype(tl.float16))  # error: .:21 NoAttribute a tile has no attribute `astype`
# hint: use `x.to(dtype)`
