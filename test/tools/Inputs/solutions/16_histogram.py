import triton
import triton.language as tl


@triton.jit
def histogram(x, counts, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = i < n
    tl.atomic_add(counts + tl.load(x + i, mask=mask, other=0), 1, mask=mask)
