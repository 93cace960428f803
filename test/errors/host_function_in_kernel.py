# nereid: compile %s:kernel --signature "*fp32" --emit tile
import triton
import triton.language as tl
import numpy as np


@triton.jit
def kernel(p):
    tl.store(p, np.exp(tl.load(p)))  # error: .:17 UnknownValue `numpy.exp` is the host's
# hint: use `tl.exp`
