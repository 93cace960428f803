# nereid: compile %s:kernel --signature "*fp16" --emit tile
import triton
import triton.language as tl


@triton.jit
def kernel(p):
    x = tl.load(p)
    tl.store(p, tl.fdiv(x, x, approx=True))  # error: .:17 UnsupportedDType `approx` of `tl.fdiv` is for f32
# hint: cast
