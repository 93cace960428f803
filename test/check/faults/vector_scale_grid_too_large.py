# check: scale[3](x=randn(128,f32), out=empty(128,f32), factor=0.5, BLOCK=64)
# check: scale[2](x=randn(128,f32), out=empty(128,f32), factor=0.5, BLOCK=64) -> clean
# The kernel relies on an exact grid and gets one program too many.
import triton
import triton.language as tl


@triton.jit
def scale(x, out, factor, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + i)  # fault: . OutOfBounds `x`
    tl.store(out + i, value * factor)  # fault: . OutOfBounds `out`
