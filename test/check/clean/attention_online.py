# check: attention[2](q=randn(32x16,f16), k=randn(40x16,f16), v=randn(40x16,f16), out=empty(32x16,f32), S=40, D=16, BM=16, BN=16)
import triton
import triton.language as tl


@triton.jit
def attention(q, k, v, out, S, D: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr):
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    d = tl.arange(0, D)
    query = tl.load(q + rows[:, None] * D + d[None, :])
    peak = tl.full([BM], -float("inf"), dtype=tl.float32)
    total = tl.zeros([BM], dtype=tl.float32)
    acc = tl.zeros([BM, D], dtype=tl.float32)
    for start in range(0, S, BN):
        keys = start + tl.arange(0, BN)
        key = tl.load(k + keys[None, :] * D + d[:, None], mask=(keys < S)[None, :], other=0.0)
        scores = tl.where((keys < S)[None, :], tl.dot(query, key), -float("inf"))
        higher = tl.maximum(peak, tl.max(scores, axis=1))
        p = tl.exp(scores - higher[:, None])
        shrink = tl.exp(peak - higher)
        total = total * shrink + tl.sum(p, axis=1)
        value = tl.load(v + keys[:, None] * D + d[None, :], mask=(keys < S)[:, None], other=0.0)
        acc = acc * shrink[:, None] + tl.dot(p.to(tl.float16), value)
        peak = higher
    tl.store(out + rows[:, None] * D + d[None, :], acc / total[:, None])
