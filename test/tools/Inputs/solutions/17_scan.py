import triton
import triton.language as tl


@triton.jit
def running_sum(x, y, N, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    total = 0.0
    for start in range(0, N, BLOCK):
        i = start + tl.arange(0, BLOCK)
        tile = tl.load(x + row * N + i, mask=i < N, other=0.0)
        tl.store(y + row * N + i, total + tl.cumsum(tile, axis=0), mask=i < N)
        total += tl.sum(tile, axis=0)
