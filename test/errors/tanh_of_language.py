# nereid: compile %s:kernel --signature "*fp32" --emit tile
import triton
import triton.language as tl


@triton.jit
def kernel(p):
    tl.store(p, tl.tanh(tl.load(p)))  # error: . NoAttribute `tl` has no `tanh`
# hint: libdevice.tanh(x)
