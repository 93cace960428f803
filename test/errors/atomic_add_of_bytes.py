# nereid: compile %s:kernel --signature "*i8" --emit tile
import triton
import triton.language as tl


@triton.jit
def kernel(p):
    tl.atomic_add(p, 1)  # error: .:5 UnsupportedDType `tl.atomic_add` does not take `int8`
