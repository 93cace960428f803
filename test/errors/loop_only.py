# nereid: compile %s:kernel --signature "*fp32, i32" --emit tile
import triton
import triton.language as tl


@triton.jit
def kernel(p, n):
    for i in range(0, n):
        x = tl.load(p + i)
    tl.store(p, x)  # error: .:17 LoopOnly `x` is defined in the body of a run-time loop only
