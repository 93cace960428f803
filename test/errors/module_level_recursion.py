# nereid: compile %s:kernel --signature "*fp32" --emit tile
import triton
import triton.language as tl


def blocks(n):
    return blocks(n + 1)  # note: .:12 RecursionTooDeep `blocks` calls itself without end


BLOCK = tl.constexpr(blocks(0))


@triton.jit
def kernel(p):
    tl.store(p + tl.arange(0, BLOCK), 0.0)  # error: .:31 ModuleLevelFailure `BLOCK` has no value
# hint: --define BLOCK=
