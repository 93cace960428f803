# nereid: compile %s:kernel --signature "*fp32, i32" --emit tile
import triton
import triton.language as tl


@triton.jit
def kernel(p, n):
    i = tl.arange(0, 8)
    total = 0.0
    for step in range(0, n):
        total += tl.load(p + step * 8 + i)  # error: .:9 LoopCarriedMismatch `total` changes its type in a run-time loop
    tl.store(p + i, total)
# hint: start it as a tile of that type, as `tl.zeros([8], tl.float32)`
