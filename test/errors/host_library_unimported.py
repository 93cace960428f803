# nereid: compile %s:kernel --signature "*fp32" --emit tile
import triton
import triton.language as tl


@triton.jit
def kernel(p):
    i = tl.arange(0, 64)
    tl.store(p + i, np.exp(tl.load(p + i)))  # error: .:21 UndefinedName `np` is not defined
# hint: kernels compute with `tl`, as in `tl.exp(x)`; `np` belongs to the host
