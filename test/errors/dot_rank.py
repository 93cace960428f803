# nereid: compile %s:kernel --signature "*fp16" --emit tile
import triton
import triton.language as tl


@triton.jit
def kernel(p):
    a = tl.load(p + tl.arange(0, 32))
    tl.store(p, tl.dot(a, a))  # error: .:17 DotShapeMismatch ranks are 1 and 1
# hint: tl.sum(a * b
