# nereid: compile %s:kernel --signature "*fp32, i64" --emit tile
import triton
import triton.language as tl


@triton.jit
def kernel(p, x):
    at = tl.arange(0, 16)
    tl.store(p + at, tl.load(x + at))  # error: .:22 NotAPointer `tl.load` needs a pointer
# hint: a launch takes the tensor itself, not its `data_ptr()`
