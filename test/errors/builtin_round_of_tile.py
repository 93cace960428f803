# nereid: compile %s:kernel --signature "*fp32" --emit tile
import triton
import triton.language as tl


@triton.jit
def kernel(p):
    tl.store(p, round(tl.load(p)))  # error: .:17 NotConstexpr `round` needs a value that is known while compiling
# hint: use `libdevice.rint(x)`
