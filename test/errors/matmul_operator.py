# nereid: compile %s:kernel --signature "*fp16" --emit tile
import triton
import triton.language as tl


@triton.jit
def kernel(p):
    i = tl.arange(0, 16)
    at = i[:, None] * 16 + i[None, :]
    a = tl.load(p + at)
    tl.store(p + at, a @ a)  # error: .:22 UnsupportedOperator `@` is not defined on tiles
# hint: tl.dot
