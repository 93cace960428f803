# nereid: compile %s:kernel --signature "*fp32" --emit tile
import triton
import triton.language as tl
from Inputs.broken import BLOCK  # note: .:1 ImportFailed can't be parsed


@triton.jit
def kernel(p):
    tl.store(p + tl.arange(0, BLOCK), 0.0)  # error: .:31 ModuleLevelFailure `BLOCK` has no value
# hint: --define BLOCK=
# error: 2:9 UnclosedBracket `(` is never closed
