# nereid: compile %s:kernel --signature "*fp32" --emit tile
import triton
import triton.language as tl


@triton.jit
def kernel(p):
    i, j = tl.program_id(0), tl.program_id(1), tl.program_id(2)  # note: .:5 ValuesDropped 3 values are unpacked into 2 names, and the last is dropped
    tl.store(p + i, j)
# hint: give each value a name
