# nereid: compile %s:kernel --signature "*fp32, i32" --emit tile
import triton
import triton.language as tl


@triton.jit
def kernel(p, n):
    step = 1
    while step < n:
        step = step * 1.5  # error: .:9 LoopCarriedMismatch `step` changes its type
    tl.store(p, step)
