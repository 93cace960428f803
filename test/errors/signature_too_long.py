# nereid: compile %s:kernel --signature "*fp32, i32, i32" --emit tile
import triton
import triton.language as tl


@triton.jit
def kernel(p, n):  # error: .:1 SignatureMismatch `kernel` has 2 parameters, but the signature describes 3
    tl.store(p, n.to(tl.float32))
