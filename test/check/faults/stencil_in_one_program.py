# check: smooth[1](x=randn(48,f32), n=48, BLOCK=64)
# The last load of each element is its own thread's; the one before is not.
import triton
import triton.language as tl


@triton.jit
def smooth(x, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    left = tl.load(x + i - 1, mask=(i > 0) & (i <= n), other=0.0)
    middle = tl.load(x + i, mask=i < n)
    tl.store(x + i, (left + middle) / 2, mask=i < n)  # fault: . MissingBarrier `x`
