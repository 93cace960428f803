# nereid: compile %s:kernel --signature "*fp32, 1099511627776" --emit tile
import triton
import triton.language as tl


@triton.jit
def kernel(p, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)  # error: .:9 ArangeRange does not fit int32
    tl.store(p + i, 0.0)
