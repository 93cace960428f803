# nereid: compile %s:kernel --signature "*fp32" --emit tile
import triton
import triton.language as tl


@triton.jit
def kernel(p):
    while True:  # error: .:11 EndlessLoop the condition of this `while` never changes
        tl.store(p, 0.0)
