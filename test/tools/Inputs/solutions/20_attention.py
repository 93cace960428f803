import triton
import triton.language as tl


@triton.jit
def attention(q, k, v, out, n, scale, B: tl.constexpr, D: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    d = tl.arange(0, D)
    queries = tl.load(q + i[:, None] * D + d[None, :])
    m = tl.full([B], float("-inf"), tl.float32)
    s = tl.zeros([B], tl.float32)
    acc = tl.zeros((B, D), tl.float32)
    for start in range(0, n, B):
        place = (start + tl.arange(0, B))[:, None] * D + d[None, :]
        scores = tl.dot(queries, tl.trans(tl.load(k + place)), input_precision="ieee") * scale
        new = tl.maximum(m, tl.max(scores, axis=1))
        shrink = tl.exp(m - new)
        p = tl.exp(scores - new[:, None])
        s = s * shrink + tl.sum(p, axis=1)
        acc = acc * shrink[:, None] + tl.dot(p, tl.load(v + place), input_precision="ieee")
        m = new
    tl.store(out + i[:, None] * D + d[None, :], acc / s[:, None])
