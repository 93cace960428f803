# check: shift[1](x=randn(64,f32), n=64, BLOCK=64)
# Another thread stores to the element that this one has yet to load.
import triton
import triton.language as tl


@triton.jit
def shift(x, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    following = tl.load(x + i + 1, mask=i + 1 < n, other=0.0)
    tl.store(x + i, following, mask=i < n)  # fault: . MissingBarrier `x`
