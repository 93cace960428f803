"""Day 30: tiles of Q, K and V.

See:    half of FlashAttention: each query's best score. A tile of Q is loaded once, tiles of K pass by, their scores live in registers for one step, and of each
        step only a running maximum is kept. No matrix of M x N anywhere.
Run:    nereid test day30_tiles --all-configs
        nereid explain day30_tiles/kernel.py:best_scores --arg "q=randn(64x32,f16)" --arg "k=randn(64x32,f16)" --arg "best=empty(64,f32)" --arg M=64 --arg N=64 --const D=32 --const BLOCK_M=16 --const BLOCK_N=16
Change: keep the second best score too. What must pass from step to step?
"""
doc = "The maximum of each row of Q K^T, without the matrix"


def inputs(M, N, D):
    return dict(q=randn((M, D), "f16"), k=randn((N, D), "f16"))


def outputs(M):
    return dict(best=empty((M,), "f32"))


def tiled(q, k, best, M, N, D, BLOCK_M, BLOCK_N):
    return [launch("best_scores", (cdiv(M, BLOCK_M),), q, k, best, M, N, D=D, BLOCK_M=BLOCK_M, BLOCK_N=BLOCK_N)]


cases = [dict(M=m, N=n, D=d) for (m, n, d) in ((1, 1, 16), (64, 64, 32), (70, 130, 64))]
variants = dict(tiled=dict(run=tiled, configs=[dict(BLOCK_M=m, BLOCK_N=n) for (m, n) in ((32, 32), (16, 64), (64, 16))]))
tolerance = lambda D: dict(rel=8 * eps("f32"), abs=D * eps("f32"))
flops = lambda M, N, D: 2 * M * N * D
