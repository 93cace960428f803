# nereid: compile %s:kernel --signature "*i32" --emit tile
import triton
import triton.language as tl


@triton.jit
def kernel(p):
    tl.atomic_add(p, tl.full([8], 1, tl.int32))  # error: .:5 IncompatibleShapes but the pointer is a scalar
# hint: tl.arange
