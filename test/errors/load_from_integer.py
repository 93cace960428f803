# nereid: compile %s:kernel --signature "*fp32, i32" --emit tile
import triton
import triton.language as tl


@triton.jit
def kernel(p, n):
    tl.store(p, tl.load(n))  # error: .:17 NotAPointer `tl.load` needs a pointer
