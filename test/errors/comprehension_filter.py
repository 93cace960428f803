# nereid: compile %s:kernel --signature "*fp32, i32" --emit tile
import triton
import triton.language as tl


@triton.jit
def kernel(p, n):
    xs = [i for i in (1, 2, 3) if i < n]  # error: .:10 RuntimeCondition can't be filtered by a run-time value
    tl.store(p, xs[0])
