# nereid: compile %s:kernel --signature "*fp32" --emit tile
import triton
import triton.language as tl

SIZES = {"small": 16}
BLOCK = tl.constexpr(SIZES["large"])  # error: . KeyError 'large'


@triton.jit
def kernel(p):
    tl.store(p + tl.arange(0, BLOCK), 0.0)
