# nereid: compile %s:kernel --signature "*fp32" --emit tile
import triton
import triton.language as tl

SIZES = {"small": 16}
BLOCK = tl.constexpr(SIZES["large"])  # note: .:22 KeyError 'large'


@triton.jit
def kernel(p):
    tl.store(p + tl.arange(0, BLOCK), 0.0)  # error: .:31 ModuleLevelFailure `BLOCK` has no value
# hint: --define BLOCK=
