# nereid: compile %s:kernel --signature "*fp32" --emit tile
import triton
import triton.language as tl

def half(x):
    return x / 2


@triton.jit
def kernel(p):
    tl.store(p, half(tl.load(p)))  # error: .:17 NotConstexpr is a run-time value
# hint: @triton.jit
