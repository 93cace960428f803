# nereid: compile %s:kernel --signature "*fp32" --emit tile
import triton
import triton.language as tl


@triton.jit
def other(p):
    tl.store(p, 0.0)


@triton.jit
def kernel(p):
    other[(1,)](p)  # error: .:5 NotCallable `other` can't be launched by a kernel
# hint: launch it on the host, or call it as a function: `other(...)`
