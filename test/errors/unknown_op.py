# nereid: compile %s:kernel --signature "*fp32" --emit tile
import triton
import triton.language as tl


@triton.jit
def kernel(p):
    i = tl.arange(0, 8)
    x = tl.load(p + i)
    tl.store(p + i, tl.maximun(x, 0.0))  # error: . NoAttribute `maximun`
# hint: maximum
