# nereid: compile %s:kernel --signature "*fp32, i32" --emit tile
import triton
import triton.language as tl


@triton.jit
def kernel(p, n):
    for i in range(0, n):
        if tl.load(p + i) > 0:
            return  # error: .:13 ReturnInLoop can't leave a run-time loop
        tl.store(p + i, 0.0)
# hint: tl.static_range
