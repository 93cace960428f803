# nereid: compile %s:kernel --signature "*i32" --emit tile
import triton
import triton.language as tl


@triton.jit
def kernel(p):
    i = tl.arange(0, 32)
    at = i[:, None] * 32 + i[None, :]
    a = tl.load(p + at)
    tl.store(p + at, tl.dot(a, a))  # error: .:22 DotOperandType does not multiply `int32`
# hint: tl.int8
