# nereid: compile %s:kernel --signature "*fp16" --emit tile
import triton
import triton.language as tl


@triton.jit
def kernel(p):
    i = tl.arange(0, 32)
    k = tl.arange(0, 64)
    a = tl.load(p + i[:, None] * 64 + k[None, :])
    b = tl.load(p + i[:, None] * 64 + k[None, :])
    c = tl.dot(a, b)  # error: .:9 DotShapeMismatch inner dimensions of `tl.dot` differ: 64 and 32
    tl.store(p + i[:, None] * 64 + k[None, :], c)
# hint: tl.trans
