import triton
import triton.language as tl


@triton.jit
def flash(q, k, v, out, lse, M, N, scale, D: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, CAUSAL: tl.constexpr):
    head = tl.program_id(1).to(tl.int64)
    rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    d = tl.arange(0, D)
    tile_q = tl.load(q + (head * M + rows[:, None]) * D + d[None, :], mask=rows[:, None] < M, other=0.0)
    m = tl.full([BLOCK_M], -3.4028234663852886e38, tl.float32)
    l = tl.zeros([BLOCK_M], tl.float32)
    acc = tl.zeros([BLOCK_M, D], tl.float32)
    for start in range(0, N, BLOCK_N):
        columns = start + tl.arange(0, BLOCK_N)
        inside = columns < N
        tile_k = tl.load(k + (head * N + columns[None, :]) * D + d[:, None], mask=inside[None, :], other=0.0)
        s = tl.dot(tile_q, tile_k, input_precision="ieee") * scale
        seen = inside[None, :]
        if CAUSAL:
            seen = seen & (columns[None, :] <= rows[:, None] + (N - M))  # the last query sees the last key
        s = tl.where(seen, s, -float("inf"))
        m_new = tl.maximum(m, tl.max(s, axis=1))
        rescale = tl.exp(m - m_new)
        p = tl.exp(s - m_new[:, None])
        l = l * rescale + tl.sum(p, axis=1)
        tile_v = tl.load(v + (head * N + columns[:, None]) * D + d[None, :], mask=inside[:, None], other=0.0)
        acc = tl.dot(p.to(tile_v.dtype), tile_v, acc * rescale[:, None], input_precision="ieee")
        m = m_new
    acc = acc / l[:, None]
    tl.store(out + (head * M + rows[:, None]) * D + d[None, :], acc.to(out.dtype.element_ty), mask=rows[:, None] < M)
    tl.store(lse + head * M + rows, m + tl.log(l), mask=rows < M)
