# check: reverse[2](x=randn(32,f32), y=empty(32,f32), n=32, BLOCK=16)
# The mirror of element 0 is n - 1, not n.
import triton
import triton.language as tl


@triton.jit
def reverse(x, y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + n - i, mask=i < n)  # fault: . OutOfBounds `x`
    tl.store(y + i, value, mask=i < n)
