import triton
import triton.language as tl


@triton.jit
def causal_attention(q, k, v, out, n, scale, B: tl.constexpr, D: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    d = tl.arange(0, D)
    rows = i[:, None] * D + d[None, :]
    queries = tl.load(q + rows, mask=i[:, None] < n, other=0.0)
    m = tl.full([B], float("-inf"), tl.float32)
    s = tl.zeros([B], tl.float32)
    acc = tl.zeros((B, D), tl.float32)
    for start in range(0, (tl.program_id(0) + 1) * B, B):
        j = start + tl.arange(0, B)
        place = j[:, None] * D + d[None, :]
        keys = tl.load(k + place, mask=j[:, None] < n, other=0.0)
        scores = tl.dot(queries, tl.trans(keys), input_precision="ieee") * scale
        scores = tl.where((i[:, None] >= j[None, :]) & (j[None, :] < n), scores, float("-inf"))
        new = tl.maximum(m, tl.max(scores, axis=1))
        shrink = tl.exp(m - new)
        p = tl.exp(scores - new[:, None])
        s = s * shrink + tl.sum(p, axis=1)
        values = tl.load(v + place, mask=j[:, None] < n, other=0.0)
        acc = acc * shrink[:, None] + tl.dot(p, values, input_precision="ieee")
        m = new
    tl.store(out + rows, acc / s[:, None], mask=i[:, None] < n)
