import triton
import triton.language as tl


@triton.jit
def scale_shift_relu(x, y, a, b, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = i < n
    tl.store(y + i, tl.maximum(a * tl.load(x + i, mask=mask) + b, 0.0), mask=mask)
