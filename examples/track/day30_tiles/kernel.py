import triton
import triton.language as tl


@triton.jit
def best_scores(q, k, best, M, N, D: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):
    rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    d = tl.arange(0, D)
    tile_q = tl.load(q + rows[:, None] * D + d[None, :], mask=rows[:, None] < M, other=0.0)
    peak = tl.full([BLOCK_M], -float("inf"), tl.float32)
    for start in range(0, N, BLOCK_N):
        columns = start + tl.arange(0, BLOCK_N)
        # K's tile is loaded turned over: D x BLOCK_N.
        tile_k = tl.load(k + columns[None, :] * D + d[:, None], mask=columns[None, :] < N, other=0.0)
        s = tl.dot(tile_q, tile_k)
        s = tl.where(columns[None, :] < N, s, -float("inf"))
        peak = tl.maximum(peak, tl.max(s, axis=1))
    tl.store(best + rows, peak, mask=rows < M)
