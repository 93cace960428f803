# nereid: compile %s:kernel --signature "*fp32, i32" --emit tile
import triton
import triton.language as tl


@triton.jit
def kernel(p, n):
    i = tl.arange(0, 16)
    total = tl.zeros([16], tl.float16)
    for k in range(0, n):
        total += tl.load(p + k * 16 + i)  # error: .:9 LoopCarriedMismatch `total` changes its type in a run-time loop
    tl.store(p + i, total)
# hint: start it as a tile of that type, as `tl.zeros([16], tl.float32)`, or end the body with `.to(tl.float16)`
