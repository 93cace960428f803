# nereid: compile %s:kernel --signature "*fp32" --emit tile
import triton
import triton.language as tl


@triton.jit
def kernel(p):
    with open("x") as f:  # error: .:10 UnknownValue it comes from `open`
        tl.store(p, 0.0)
