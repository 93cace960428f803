# nereid: compile %s:kernel --signature "*fp32" --emit tile
import triton
import triton.language as tl


@triton.jit
def kernel(p):
    x = tl.load(p + tl.arange(0, 8))
    if x > 0:  # error: .:5 ConditionIsTile a condition must be one value
        tl.store(p, 1.0)
# hint: tl.where
