import triton
import triton.language as tl


@triton.jit
def add(x, out, n, other=None, BLOCK: tl.constexpr = 128):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(x + i, mask=i < n) + 1, mask=i < n)


@triton.jit
def rows(out):
    i = tl.arange(0, 8)
    tl.store(out + tl.program_id(0) * 8 + i, i.to(tl.float32), mask=i < 5)
