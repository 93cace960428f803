# nereid: compile %s:kernel --signature "*fp32"
# Tensors exist in kernels only; a module that makes one loads, and the use of it is refused.
import triton
import triton.language as tl

ZEROS = [tl.zeros((16, 16), tl.float32)]
ROWS = tl.cdiv(100, 16)  # note: .:8 NotInKernel tensors are made in kernels only


@triton.jit
def kernel(p):
    tl.store(p, ROWS)  # error: .:17 ModuleLevelFailure `ROWS` has no value
