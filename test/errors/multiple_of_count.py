# nereid: compile %s:kernel --signature "*fp32, i32" --emit tile
import triton
import triton.language as tl


@triton.jit
def kernel(p, n):
    i = tl.multiple_of(n + tl.arange(0, 8), [8, 8])  # error: .:9 WrongArgument
    tl.store(p + i, 0.0)
