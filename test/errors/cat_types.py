# nereid: compile %s:kernel --signature "*fp32, *fp16" --emit tile
import triton
import triton.language as tl


@triton.jit
def kernel(p, q):
    i = tl.arange(0, 8)
    x = tl.cat(tl.load(p + i), tl.load(q + i), can_reorder=True)  # error: .:9 TypeMismatch `fp32` and `fp16`
    tl.store(p + tl.arange(0, 16), x)
