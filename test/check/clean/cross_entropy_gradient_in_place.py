# check: gradient[3](logits=randn(3x50,f32), labels=[0, 5, 49]:i64, V=50, BLOCK=32)
# The logits are read twice and then replaced by their gradient, block by block.
import triton
import triton.language as tl


@triton.jit
def gradient(logits, labels, V, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    label = tl.load(labels + row)
    i = tl.arange(0, BLOCK)
    peak = -float("inf")
    total = 0.0
    for start in range(0, V, BLOCK):
        x = tl.load(logits + row * V + start + i, mask=start + i < V, other=-float("inf"))
        higher = tl.maximum(peak, tl.max(x, axis=0))
        total = total * tl.exp(peak - higher) + tl.sum(tl.exp(x - higher), axis=0)
        peak = higher
    for start in range(0, V, BLOCK):
        x = tl.load(logits + row * V + start + i, mask=start + i < V, other=-float("inf"))
        p = tl.exp(x - peak) / total
        tl.store(logits + row * V + start + i, tl.where(start + i == label, p - 1, p), mask=start + i < V)
