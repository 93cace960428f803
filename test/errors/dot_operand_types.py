# nereid: compile %s:kernel --signature "*fp16, *fp32" --emit tile
import triton
import triton.language as tl


@triton.jit
def kernel(p, q):
    i = tl.arange(0, 16)
    at = i[:, None] * 16 + i[None, :]
    tl.store(q + at, tl.dot(tl.load(p + at), tl.load(q + at)))  # error: .:22 DotOperandType `fp16` and `fp32`
# hint: .to(b.dtype)
