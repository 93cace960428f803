# nereid: compile %s:kernel --signature "*fp32, *fp32" --emit tile
import triton
import triton.language as tl


@triton.jit
def kernel(p, q):
    i = tl.arange(0, 16)
    tl.store(p + i, q + i)  # error: .:5 CannotCast `value` of `tl.store` is a tile of pointers, `pointer<fp32>`, where the memory holds `fp32`
# hint: `tl.load(...)`
