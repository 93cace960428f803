# nereid: compile %s:kernel --signature "*fp32" --emit tile
import triton
import triton.language as tl

import torch

WIDE = torch.backends.cuda.matmul.allow_tf32


@triton.jit
def kernel(p):
    if WIDE:  # error: .:8 UnknownValue `WIDE` is not known
        tl.store(p, 0.0)
# hint: pass it as an argument, or give it a value with `--define WIDE=
