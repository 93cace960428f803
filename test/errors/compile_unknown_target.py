# nereid: compile %s:kernel --signature "*fp32" --target sm_12
import triton
import triton.language as tl


@triton.jit
def kernel(p):
    tl.store(p, 0.0)
# error: - - unknown target `sm_12`
