# nereid: compile %s:kernel --signature "*bf16" --emit tile
import triton
import triton.language as tl


@triton.jit
def kernel(p):
    tl.atomic_max(p, 1.0)  # error: .:5 UnsupportedDType does not take `bf16`
