# nereid: compile %s:kernel --signature "*kfp32" --emit tile
import triton
import triton.language as tl


@triton.jit
def kernel(p):
    tl.atomic_add(p, 1.0)  # error: .:5 ConstPointer writes through a constant pointer
