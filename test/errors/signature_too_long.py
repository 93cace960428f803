# nereid: compile %s:kernel --signature "*fp32, i32, i32" --emit tile
import triton
import triton.language as tl


@triton.jit
def kernel(p, n):
    tl.store(p, n.to(tl.float32))
# error: - - the signature has 3 types, `kernel` has 2 parameters
