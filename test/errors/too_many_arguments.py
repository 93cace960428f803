# nereid: compile %s:kernel --signature "*fp32" --emit tile
import triton
import triton.language as tl


@triton.jit
def kernel(p):
    i = tl.arange(0, 8, 2)  # error: .:9 TooManyArguments positional arguments, but 3 were given
    tl.store(p + i, 0.0)
