# nereid: compile %s:kernel --signature "*fp32" --emit tile
import triton
import triton.language as tl


@triton.jit
def kernel(p):
    tl.store(p, tl.load(p).to(tl.int16, bitcast=True))  # error: .:17 CannotCast a bitcast needs equal widths
