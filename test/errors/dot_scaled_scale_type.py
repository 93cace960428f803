# nereid: compile %s:kernel --signature "*u8, *fp8e5, *fp32" --emit tile
import triton
import triton.language as tl


@triton.jit
def kernel(p, s, out):
    i = tl.arange(0, 32)
    at = i[:, None] * 32 + i[None, :]
    a = tl.load(p + at)
    scale = tl.load(s + i[:, None] * 4 + tl.arange(0, 4)[None, :])
    c = tl.dot_scaled(a, scale, "e2m1", tl.trans(a), None, "e2m1")  # error: .:9 DotOperandType must hold e8m0 bytes of type `uint8` or numbers of type `fp8e4nv`
    tl.store(out + at, c)
