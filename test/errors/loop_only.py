# nereid: compile %s:kernel --signature "*fp32, i32" --emit tile
# A value that each step of a loop gives is that of the last step behind it; one that only some steps give is none.
import triton
import triton.language as tl


@triton.jit
def kernel(p, n):
    for i in range(0, n):
        x = tl.load(p + i)
        if x > 0:
            y = x
    tl.store(p, x)
    tl.store(p, y)  # error: .:17 LoopOnly `y` is defined in the body of a run-time loop only
