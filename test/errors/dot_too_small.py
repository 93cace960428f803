# nereid: compile %s:kernel --signature "*fp16" --emit tile
import triton
import triton.language as tl


@triton.jit
def kernel(p):
    i = tl.arange(0, 16)
    k = tl.arange(0, 2)
    a = tl.load(p + i[:, None] * 2 + k[None, :])
    b = tl.load(p + k[:, None] * 16 + i[None, :])
    tl.store(p + i[:, None] * 16 + i[None, :], tl.dot(a, b))  # error: .:48 DotTooSmall the inner dimension of `tl.dot` is 2
# hint: larger block along K
