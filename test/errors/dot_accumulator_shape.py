# nereid: compile %s:kernel --signature "*fp16" --emit tile
import triton
import triton.language as tl


@triton.jit
def kernel(p):
    i = tl.arange(0, 16)
    at = i[:, None] * 16 + i[None, :]
    a = tl.load(p + at)
    acc = tl.zeros([16, 32], tl.float32)
    acc = tl.dot(a, a, acc)  # error: .:11 DotShapeMismatch `acc` of `tl.dot` is
    tl.store(p + at, a)
