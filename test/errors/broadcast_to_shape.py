# nereid: compile %s:kernel --signature "*fp32" --emit tile
import triton
import triton.language as tl


@triton.jit
def kernel(p):
    a = tl.load(p + tl.arange(0, 8))
    b = tl.broadcast_to(a, [8, 4])  # error: .:9 IncompatibleShapes cannot broadcast
    tl.store(p, tl.sum(tl.sum(b, 0), 0))
# hint: [:, None]
