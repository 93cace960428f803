# check: histogram[1](x=randint(64,0,8,i32), bins=empty(8,i32), N=64, BINS=8)
import triton
import triton.language as tl


@triton.jit
def histogram(x, bins, N: tl.constexpr, BINS: tl.constexpr):
    counts = tl.histogram(tl.load(x + tl.arange(0, N)), BINS)
    tl.store(bins + tl.arange(0, BINS), counts)
