"""Day 34: FlashAttention backward, dQ, dK and dV.

See:    P is not kept: exp(S - lse) gives it again, tile by tile. Two kernels: one holds a tile of keys and passes over queries (dK, dV), the other holds queries
        and passes over keys (dQ), so that no two programs add to one place and no atomics are needed. Five products where the forward pass has two.
Run:    nereid test day34_flash_backward
        nereid bench day34_flash_backward --match small
        (on a GPU) nereid bench ../../kernels/flash_attention --variant backward.flash
Change: in kernels/flash_attention/backward.py leave `scale` out of dQ; the reference moves each number of Q, K and V and will tell.
"""
doc = "Gradients of attention by kernels/flash_attention, against finite differences"
forward, backward = "../../../kernels/flash_attention/kernel.py", "../../../kernels/flash_attention/backward.py"


def inputs(M, N, D):
    return dict(q=randn((1, 1, M, D), "f32"), k=randn((1, 1, N, D), "f32"), v=randn((1, 1, N, D), "f32"), do=randn((1, 1, M, D), "f32"))


def outputs(M, N, D):
    return dict(dq=empty((1, 1, M, D), "f32"), dk=empty((1, 1, N, D), "f32"), dv=empty((1, 1, N, D), "f32"))


def flash(q, k, v, do, dq, dk, dv, M, N, D, causal):
    out, lse, delta = empty((1, 1, M, D), "f32"), empty((1, 1, M), "f32"), empty((1, 1, M), "f32")
    strides = [*q.strides[:3], *k.strides[:3], *v.strides[:3], 0, 0, 0, *out.strides[:3]]
    sizes = [1, 1, M, N, 1 / sqrt(D), 0.0, 0]  # heads, queries' heads a key's head, M, N, scale, p and seed of dropout
    tiles = dict(D=D, BLOCK_D=max(next_power_of_2(D), 16), BLOCK_M=32, BLOCK_N=32, CAUSAL=causal, DROPOUT=False, PRECISION="ieee")
    return [
        launch(f"{forward}:flash_forward", (cdiv(M, 32), 1), q, k, v, None, out, lse, *strides, *sizes, **tiles),
        launch(f"{backward}:row_delta", (cdiv(M, 64),), out, do, delta, M, D=D, BLOCK_D=tiles["BLOCK_D"], BLOCK_M=64),
        launch(f"{backward}:backward_dk_dv", (cdiv(N, 32), 1), q, k, v, None, do, lse, delta, dk, dv, 0, 0, 0, *sizes, **tiles),
        launch(f"{backward}:backward_dq", (cdiv(M, 32), 1), q, k, v, None, do, lse, delta, dq, 0, 0, 0, *sizes, **tiles),
    ]


cases = [dict(M=m, N=n, D=d, causal=c) for (m, n, d) in ((1, 1, 16), (7, 9, 16), (12, 12, 8)) for c in (False, True)]
bench = [dict(label="small", M=512, N=512, D=64, causal=True)]
variants = dict(flash=flash)
# Sums of M or N terms of order 1; scores and delta are off by some units, which P and dS take over.
tolerance = lambda M, N: dict(rel=32 * eps("f32"), abs=(64 + 4 * (M + N)) * eps("f32"))
flops = lambda M, N, D: 14 * M * N * D
