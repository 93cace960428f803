# nereid: compile %s:kernel --signature "*fp32" --emit tile
import triton
import triton.language as tl


@triton.jit
def kernel(p):
    i = tl.arange(0, 16)
    at = i[:, None] * 16 + i[None, :]
    a = tl.load(p + at)
    tl.store(p + at, tl.dot(a, a, input_precision="fast"))  # error: .:22 WrongArgument `input_precision` is `fast`
# hint: tf32x3
