# check: histogram[2](x=randint(64,0,8,i32), bins=empty(8,i32), BLOCK=32)
import triton
import triton.language as tl


@triton.jit
def histogram(x, bins, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.atomic_add(bins + tl.load(x + i), 1)  # fault: . UninitialisedRead `bins`
