# check: blur[2](x=randn(32,f32), y=empty(32,f32), n=32, BLOCK=16)
# The right neighbour is masked at the edge, the left one is not.
import triton
import triton.language as tl


@triton.jit
def blur(x, y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    left = tl.load(x + i - 1, mask=i < n, other=0.0)  # fault: . OutOfBounds `x`
    middle = tl.load(x + i, mask=i < n, other=0.0)
    right = tl.load(x + i + 1, mask=i + 1 < n, other=0.0)
    tl.store(y + i, (left + middle + right) / 3, mask=i < n)
