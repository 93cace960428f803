# nereid: compile %s:kernel --signature "*fp32" --emit tile
import triton
import triton.language as tl


@triton.jit
def kernel(p):
    tl.store(p, tl.laod(p))  # error: .:17 NoAttribute `tl` has no `laod`
# hint: did you mean `load`?
