# check: copy[1](x=randn(16,f32), y=empty(16,f32), start=2147483640, origin=2147483640, n=2147483647, N=16)
# The index wraps in lanes that the mask removes, and their address is never used.
import triton
import triton.language as tl


@triton.jit
def copy(x, y, start, origin, n, N: tl.constexpr):
    lane = tl.arange(0, N)
    i = start + lane
    inside = lane < n - start
    tl.store(y + (i - origin), tl.load(x + (i - origin), mask=inside), mask=inside)
