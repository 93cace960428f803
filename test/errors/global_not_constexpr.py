# nereid: compile %s:kernel --signature "*fp32" --emit tile
import triton
import triton.language as tl

SCALE = 2.5


@triton.jit
def kernel(p):
    tl.store(p, tl.load(p) * SCALE)  # error: .:30 GlobalNotConstexpr `SCALE` is a global `float`
# hint: SCALE = tl.constexpr(2.5)
