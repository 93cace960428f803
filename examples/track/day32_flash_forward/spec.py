"""Day 32: FlashAttention forward.

See:    day 30 and day 31 in one loop: 30 lines. `lse`, a number a query, is all that the backward pass will need of the scores. The library's kernel
        (kernels/flash_attention) adds bias, dropout, grouped heads and any D.
Run:    nereid test day32_flash_forward --all-configs
        nereid inspect day32_flash_forward/kernel.py:flash --target sm_90a --arg "q=empty(64x64,f16)" --arg "k=empty(64x64,f16)" --arg "v=empty(64x64,f16)" --arg "out=empty(64x64,f16)" --arg "lse=empty(64,f32)" --arg M=64 --arg N=64 --arg scale=0.125 --const D=64 --const BLOCK_M=64 --const BLOCK_N=64 --const CAUSAL=True
Change: stop the loop of a causal kernel at the last key that a tile sees (`min(N, ...)`). Half of the work goes; the test says whether you went too far.
"""
doc = "Flash attention in thirty lines, causal or not"


def inputs(H, M, N, D, dtype):
    return dict(q=randn((H, M, D), dtype), k=randn((H, N, D), dtype), v=randn((H, N, D), dtype))


def outputs(H, M, D, dtype):
    return dict(out=empty((H, M, D), dtype), lse=empty((H, M), "f32"))


def flash(q, k, v, out, lse, H, M, N, D, causal, BLOCK_M, BLOCK_N):
    return [launch("flash", (cdiv(M, BLOCK_M), H), q, k, v, out, lse, M, N, 1 / sqrt(D),
                   D=D, BLOCK_M=BLOCK_M, BLOCK_N=BLOCK_N, CAUSAL=causal)]


cases = [dict(H=2, M=m, N=n, D=d, dtype=t, causal=c) for (m, n, d, t) in ((1, 1, 16, "f32"), (70, 70, 32, "f32"), (33, 100, 64, "f16"))
         for c in (False, True)]
variants = dict(flash=dict(run=flash, configs=[dict(BLOCK_M=m, BLOCK_N=n) for (m, n) in ((32, 32), (16, 64), (64, 16))]))


def tolerance(dtype):
    # Weights are rounded to the dtype before they meet V, and the result once more.
    return dict(out=dict(rel=eps(dtype), abs=2 * eps(dtype) + 128 * eps("f32")), lse=dict(rel=16 * eps("f32"), abs=128 * eps("f32")))


flops = lambda H, M, N, D: 4 * H * M * N * D
