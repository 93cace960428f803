# nereid: compile %s:kernel --signature "*fp32" --emit tile
import triton
import triton.language as tl


@triton.jit
def kernel(p):
    i = tl.arange(0, 8)
    tl.store(tl.load(p + i), p + i)  # error: .:5 NotAPointer `tl.store` needs a pointer first
# hint: the order is `tl.store(pointer, value)`
