# nereid: compile %s:kernel --signature "*fp32, 4" --emit tile
import triton
import triton.language as tl


@triton.jit
def kernel(p, N: tl.constexpr):
    if isinstance(N.type, tl.constexpr_type):  # error: .:8 UnsupportedOp whether a type is a `tl.constexpr_type` is not known
        tl.store(p, 1.0)
# hint: ask it of the value: `isinstance(x, tl.constexpr)`
