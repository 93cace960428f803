# check: dropout[2](x=randn(64,f32), seeds=[11, 12]:i32, y=empty(64,f32), n=64, p=0.5, BLOCK=32)
# There is a seed for each program, and it is read by element.
import triton
import triton.language as tl


@triton.jit
def dropout(x, seeds, y, n, p, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = i < n
    seed = tl.load(seeds + tl.program_id(0) * BLOCK)  # fault: . OutOfBounds `seeds`
    keep = tl.rand(seed, i) > p
    value = tl.load(x + i, mask=mask)
    tl.store(y + i, tl.where(keep, value / (1 - p), 0.0), mask=mask)
