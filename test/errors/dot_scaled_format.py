# nereid: compile %s:kernel --signature "*u8, *fp32" --emit tile
import triton
import triton.language as tl


@triton.jit
def kernel(p, out):
    i = tl.arange(0, 32)
    at = i[:, None] * 32 + i[None, :]
    a = tl.load(p + at)
    c = tl.dot_scaled(a, None, "e9m9", a, None, "e5m2")  # error: .:9 WrongArgument is `e9m9`
    tl.store(out + at, c)
# hint: e4m3
