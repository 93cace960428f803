# nereid: compile %s:kernel --signature "*fp32" --emit tile
import triton
import triton.language as tl
from Inputs.broken import BLOCK  # error: . ImportFailed can't be parsed


@triton.jit
def kernel(p):
    tl.store(p + tl.arange(0, BLOCK), 0.0)
