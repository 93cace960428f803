# nereid: compile %s:kernel --signature "*fp32" --emit tile
# xfail: the emitter and the module evaluator disagree on how such a name is called
import triton
import triton.language as tl

import torch

WIDE = torch.cuda.get_device_capability()[0] >= 9


@triton.jit
def kernel(p):
    if WIDE:  # error: .:8 UnknownValue `WIDE` is not known
        tl.store(p, 0.0)
# hint: --define WIDE=
