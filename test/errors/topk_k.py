# nereid: compile %s:kernel --signature "*fp32" --emit tile
import triton
import triton.language as tl


@triton.jit
def kernel(p):
    x = tl.load(p + tl.arange(0, 16))
    y = tl.topk(x, 3)  # error: .:9 StaticAssertFailed topk: k must be a power of two
    tl.store(p + tl.arange(0, 4), y)
