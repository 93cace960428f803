# nereid: compile %s:kernel --signature "*fp32" --emit tile
import triton
import triton.language as tl


@triton.jit
def half(n):
    return n // 2


BLOCK = tl.constexpr(half(64))  # note: .:22 NotInKernel `half` is a kernel function and runs only in kernels


@triton.jit
def kernel(p):
    tl.store(p + tl.arange(0, BLOCK), 0.0)  # error: .:31 ModuleLevelFailure `BLOCK` has no value
# hint: --define BLOCK=
