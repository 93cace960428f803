# nereid: compile %s:kernel --signature "*fp32" --emit tile
import triton
import triton.language as tl


@triton.jit
def kernel(p):
    tl.store(p, -tl.inf)  # error: . NoAttribute `tl` has no `inf`
# hint: use `float("inf")`
