# nereid: compile %s:kernel --signature "*fp32" --emit tile
import triton
import triton.language as tl


@triton.jit
def kernel(p):
    tl.store(p, tl.asin(tl.load(p)))  # error: . NoAttribute `tl` has no `asin`
# hint: write `libdevice.asin` after `from triton.language.extra import libdevice`
