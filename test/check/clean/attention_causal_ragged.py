# check: attention[2](q=randn(24x16,f32), k=randn(24x16,f32), v=randn(24x16,f32), out=empty(24x16,f32), S=24, D=16, B=16)
# Rows behind the end have their own diagonal, and are not stored; whole blocks above the diagonal are skipped.
import triton
import triton.language as tl


@triton.jit
def attention(q, k, v, out, S, D: tl.constexpr, B: tl.constexpr):
    rows = tl.program_id(0) * B + tl.arange(0, B)
    d = tl.arange(0, D)
    query = tl.load(q + rows[:, None] * D + d[None, :], mask=(rows < S)[:, None], other=0.0)
    peak = tl.full([B], -float("inf"), dtype=tl.float32)
    total = tl.zeros([B], dtype=tl.float32)
    acc = tl.zeros([B, D], dtype=tl.float32)
    for start in range(0, tl.minimum((tl.program_id(0) + 1) * B, S), B):
        keys = start + tl.arange(0, B)
        key = tl.load(k + keys[None, :] * D + d[:, None], mask=(keys < S)[None, :], other=0.0)
        scores = tl.dot(query, key, input_precision="ieee")
        scores = tl.where((rows[:, None] >= keys[None, :]) & (keys < S)[None, :], scores, -float("inf"))
        higher = tl.maximum(peak, tl.max(scores, axis=1))
        p = tl.exp(scores - higher[:, None])
        total = total * tl.exp(peak - higher) + tl.sum(p, axis=1)
        value = tl.load(v + keys[:, None] * D + d[None, :], mask=(keys < S)[:, None], other=0.0)
        acc = acc * tl.exp(peak - higher)[:, None] + tl.dot(p, value, input_precision="ieee")
        peak = higher
    tl.store(out + rows[:, None] * D + d[None, :], acc / total[:, None], mask=(rows < S)[:, None])
