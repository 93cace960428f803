# nereid: compile %s:kernel --signature "*fp32, i32" --emit tile
import triton
import triton.language as tl


@triton.jit
def kernel(p, n):
    if n > 3:
        x = 1
    else:
        x = 2.0  # error: .:9 BranchMismatch `x` is
    tl.store(p, x)
# hint: same type in both
