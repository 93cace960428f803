# nereid: compile %s:kernel --signature "*fp32" --emit tile
import triton
import triton.language as tl


@triton.jit
def kernel(p):
    n = tl.program_id(0)
    tl.store(p, 3000000000 * n)  # error: .:17 LiteralOutOfRange `3000000000` does not fit `int32`
# hint: .to(tl.int64)
