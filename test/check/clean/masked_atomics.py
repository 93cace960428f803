# check: count[2](x=[5, -1, 2, 9, -1, 0, 2, 100]:i32, bins=zeros(8,i32), BLOCK=4)
# Invalid bins are masked off.
import triton
import triton.language as tl


@triton.jit
def count(x, bins, BLOCK: tl.constexpr):
    value = tl.load(x + tl.program_id(0) * BLOCK + tl.arange(0, BLOCK))
    tl.atomic_add(bins + value, 1, mask=(value >= 0) & (value < 8))
