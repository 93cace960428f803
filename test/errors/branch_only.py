# nereid: compile %s:kernel --signature "*fp32, i32" --emit tile
import triton
import triton.language as tl


@triton.jit
def kernel(p, n):
    if n > 3:
        x = 1.0
    tl.store(p, x)  # error: .:17 BranchOnly `x` is defined in one branch of a run-time `if` only
