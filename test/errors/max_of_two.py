# nereid: compile %s:kernel --signature "*fp32" --emit tile
import triton
import triton.language as tl


@triton.jit
def kernel(p):
    tl.store(p, tl.max(tl.load(p), 0.0))  # error: .:17 WrongArgument `axis` of `tl.max` is the float `0.0`
# hint: `tl.maximum(x, y)` compares two values
