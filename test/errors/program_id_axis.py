# nereid: compile %s:kernel --signature "*fp32" --emit tile
import triton
import triton.language as tl


@triton.jit
def kernel(p):
    tl.store(p + tl.program_id(3), 0.0)  # error: .:18 AxisOutOfRange is not 0, 1 or 2
# hint: three dimensions
