# nereid: compile %s:kernel --signature "*u8, *fp8e4nv, *fp32" --emit tile
import triton
import triton.language as tl


@triton.jit
def kernel(p, s, out):
    i = tl.arange(0, 32)
    at = i[:, None] * 32 + i[None, :]
    a = tl.load(p + at)
    scale = tl.load(s + i[:, None] + tl.arange(0, 1)[None, :])
    c = tl.dot_scaled(tl.trans(a), None, "e2m1", a, scale, "e2m1")  # error: .:9 DotShapeMismatch `rhs_scale` has shape [32, 1], not [32, 4]
    tl.store(out + at, c)
# hint: N x K/16
