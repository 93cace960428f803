# nereid: compile %s:kernel --signature "*fp32, 12" --emit tile
import triton
import triton.language as tl


@triton.jit
def kernel(p, BLOCK: tl.constexpr):
    tl.static_assert(BLOCK % 8 == 0, "BLOCK must be a multiple of 8")  # error: .:5 StaticAssertFailed BLOCK must be a multiple of 8
    tl.store(p, 0.0)
