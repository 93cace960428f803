"""Day 16: blocked matrix products, `tl.dot`.

See:    a program computes one tile of C. `tl.dot` multiplies two tiles on the tensor cores: f16 in, f32 out. Here K fits one tile; tomorrow it does not.
Run:    nereid test day16_dot
        nereid inspect day16_dot/kernel.py:product --target sm_90a --arg "a=empty(512x64,f16)" --arg "b=empty(64x512,f16)" --arg "c=empty(512x512,f32)" --arg M=512 --arg N=512 --const K=64 --const BLOCK_M=64 --const BLOCK_N=64 --grid "(8,8)"
Change: BLOCK_M to 32 in `inspect`: `mma.sync` in the place of `wgmma`, which wants 64 rows.
"""
doc = "C = A B with one tile of K"


def inputs(M, N, K, dtype):
    return dict(a=randn((M, K), dtype), b=randn((K, N), dtype))


def outputs(M, N):
    return dict(c=empty((M, N), "f32"))


def tiles(a, b, c, M, N, K, BLOCK_M, BLOCK_N):
    return [launch("product", (cdiv(M, BLOCK_M), cdiv(N, BLOCK_N)), a, b, c, M, N, K=K, BLOCK_M=BLOCK_M, BLOCK_N=BLOCK_N)]


cases = [dict(M=m, N=n, K=k, dtype=d) for (m, n, k, d) in ((64, 64, 64, "f16"), (100, 70, 32, "f16"), (33, 65, 16, "bf16"), (40, 40, 32, "f32"))]
variants = dict(tiles=dict(run=tiles, configs=[dict(BLOCK_M=m, BLOCK_N=n) for (m, n) in ((64, 64), (32, 32), (16, 128))]))
# K products of order 1 are summed in f32.
tolerance = lambda K: dict(rel=8 * eps("f32"), abs=1.2 * K * eps("f32"))
flops = lambda M, N, K: 2 * M * N * K
