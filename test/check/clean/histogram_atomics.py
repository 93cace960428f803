# check: histogram[4](x=randint(100,0,8,i32), bins=zeros(8,i32), n=100, BLOCK=32)
# Lanes of one program and of several meet in one bin.
import triton
import triton.language as tl


@triton.jit
def histogram(x, bins, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    bin = tl.load(x + i, mask=i < n, other=0)
    tl.atomic_add(bins + bin, 1, mask=i < n, sem="relaxed")
