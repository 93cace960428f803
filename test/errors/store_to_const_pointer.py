# nereid: compile %s:kernel --signature "*kfp32" --emit tile
import triton
import triton.language as tl


@triton.jit
def kernel(p):
    tl.store(p, 0.0)  # error: .:5 ConstPointer `tl.store` writes through a constant pointer
# hint: tl.const
