# run: ref cpu gpu
# Reductions that count and combine bits.
import triton
import triton.language as tl


@triton.jit
def bits(x, folded, ored, N: tl.constexpr):
    v = tl.load(x + tl.arange(0, N))
    tl.store(folded, tl.xor_sum(v, 0))
    tl.store(ored, tl.reduce_or(v, 0))


@triton.jit
def counts(x, y, N: tl.constexpr, BINS: tl.constexpr):
    v = tl.load(x + tl.arange(0, N))
    tl.store(y + tl.arange(0, BINS), tl.histogram(v, BINS))

# expect: bits(x=[1, 2, 7, 16]:i32, N=4) -> folded:i32 == [20] and ored:i32 == [23]
# expect: counts(x=[0, 3, 3, 1, 3, 0, 2, 3]:i32, N=8, BINS=4) -> y:i32 == [2, 1, 1, 4]
