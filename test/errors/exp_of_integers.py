# nereid: compile %s:kernel --signature "*i32" --emit tile
import triton
import triton.language as tl


@triton.jit
def kernel(p):
    tl.store(p, tl.exp(tl.load(p)))  # error: .:17 UnsupportedDType takes `fp32` or `fp64`, not `int32`
# hint: .to(tl.float32)
