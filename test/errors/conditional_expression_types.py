# nereid: compile %s:kernel --signature "*fp32, i32" --emit tile
import triton
import triton.language as tl


@triton.jit
def kernel(p, n):
    x = 1.0 if n > 3 else tl.zeros([8], tl.float32)  # error: .:9 BranchMismatch
    tl.store(p + tl.arange(0, 8), x)
