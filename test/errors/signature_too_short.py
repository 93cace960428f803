# nereid: compile %s:kernel --signature "*fp32" --emit tile
import triton
import triton.language as tl


@triton.jit
def kernel(p, n, BLOCK: tl.constexpr):  # error: .:1 SignatureMismatch nothing is given for `n`, `BLOCK`
    tl.store(p + tl.arange(0, BLOCK), 0.0)
