# nereid: compile %s:kernel --signature "*fp32" --emit tile
import triton
import triton.language as tl


@triton.jit
def kernel(p):
    i = tl.arange(0, 16)
    x = tl.load(p + i, other=0.0)  # error: .:9 OtherWithoutMask given without a `mask`
    tl.store(p + i, x)
# hint: drop it or add a mask
