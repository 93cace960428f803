# nereid: compile %s:kernel --signature "*u8, *fp32" --emit tile
import triton
import triton.language as tl


@triton.jit
def kernel(p, out):
    i = tl.arange(0, 32)
    k = tl.arange(0, 64)
    a = tl.load(p + i[:, None] * 64 + k[None, :])
    b = tl.load(p + k[:, None] * 32 + i[None, :])
    scale = tl.load(p + i[:, None] * 8 + tl.arange(0, 8)[None, :])
    c = tl.dot_scaled(a, scale, "e5m2", b, None, "e5m2")  # error: .:9 DotShapeMismatch `lhs_scale` has shape
    tl.store(out + i[:, None] * 32 + i[None, :], c)
