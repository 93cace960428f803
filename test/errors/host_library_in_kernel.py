# nereid: compile %s:kernel --signature "*fp32" --emit tile
import triton
import triton.language as tl
import torch.nn.functional as F


@triton.jit
def kernel(p):
    tl.store(p, F.relu(tl.load(p)))  # error: .:17 UnknownValue `torch.nn.functional` is the host's: kernels can't use it
# hint: kernels call functions of `tl`
