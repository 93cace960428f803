# nereid: compile %s:kernel --signature "*fp32" --emit tile
import triton
import triton.language as tl


@triton.jit
def kernel(p):
    p[tl.program_id(0)] = 1.0  # error: .:5 UnsupportedSyntax a pointer can't be assigned through
# hint: write memory with `tl.store(pointer + index, value)`
