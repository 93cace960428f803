# nereid: compile %s:kernel --signature "*fp32" --emit tile
import triton
import triton.language as tl


@triton.jit
def kernel(p):
    a = tl.load(p + tl.arange(0, 32))
    b = tl.load(p + tl.arange(0, 64))
    tl.store(p + tl.arange(0, 32), a + b)  # error: .:36 IncompatibleShapes differ in dimension 0: 32 and 64
