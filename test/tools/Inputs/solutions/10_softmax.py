import triton
import triton.language as tl


@triton.jit
def softmax(x, y, N, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    mask = i < N
    values = tl.load(x + row * N + i, mask=mask, other=float("-inf"))
    e = tl.exp(values - tl.max(values, axis=0))
    tl.store(y + row * N + i, e / tl.sum(e, axis=0), mask=mask)
