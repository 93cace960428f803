# check: shift[1](x=randn(200,f32), n=200, BLOCK=64)
# Blocks move one element down; the barrier after each load holds the store back, the one after each store the next load.
import triton
import triton.language as tl


@triton.jit
def shift(x, n, BLOCK: tl.constexpr):
    for start in range(0, n, BLOCK):
        i = start + tl.arange(0, BLOCK)
        following = tl.load(x + i + 1, mask=i + 1 < n, other=0.0)
        tl.debug_barrier()
        tl.store(x + i, following, mask=i < n)
        tl.debug_barrier()
