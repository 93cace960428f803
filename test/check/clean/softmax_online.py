# check: softmax[2](x=randn(2x200,f32), y=empty(2x200,f32), N=200, BLOCK=64)
# The running maximum starts at -inf; exp(-inf - finite) is 0 and no NaN.
import triton
import triton.language as tl


@triton.jit
def softmax(x, y, N, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    peak = -float("inf")
    total = 0.0
    for start in range(0, N, BLOCK):
        value = tl.load(x + row * N + start + i, mask=start + i < N, other=-float("inf"))
        higher = tl.maximum(peak, tl.max(value, axis=0))
        total = total * tl.exp(peak - higher) + tl.sum(tl.exp(value - higher), axis=0)
        peak = higher
    for start in range(0, N, BLOCK):
        value = tl.load(x + row * N + start + i, mask=start + i < N)
        tl.store(y + row * N + start + i, tl.exp(value - peak) / total, mask=start + i < N)
