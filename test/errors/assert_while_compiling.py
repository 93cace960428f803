# nereid: compile %s:kernel --signature "*fp32, 12" --emit tile
import triton
import triton.language as tl


@triton.jit
def kernel(p, BLOCK: tl.constexpr):
    assert BLOCK % 8 == 0, "BLOCK must be a multiple of 8"  # error: .:12 AssertionFailed BLOCK must be a multiple of 8
    tl.store(p, 0.0)
