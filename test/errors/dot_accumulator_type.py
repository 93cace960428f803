# nereid: compile %s:kernel --signature "*fp32" --emit tile
import triton
import triton.language as tl


@triton.jit
def kernel(p):
    i = tl.arange(0, 16)
    at = i[:, None] * 16 + i[None, :]
    a = tl.load(p + at)
    acc = tl.zeros([16, 16], tl.float16)
    acc = tl.dot(a, a, acc)  # error: .:11 DotAccumulatorType `acc` of `tl.dot` has type `fp16`
    tl.store(p + at, acc)
