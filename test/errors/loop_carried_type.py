# nereid: compile %s:kernel --signature "*fp32, i32" --emit tile
import triton
import triton.language as tl


@triton.jit
def kernel(p, n):
    total = 0
    for i in range(0, n):
        total += tl.load(p + i)  # error: .:9 LoopCarriedMismatch `total` changes its type in a run-time loop
    tl.store(p, total)
# hint: start it with a float, `0.0` and not `0`
