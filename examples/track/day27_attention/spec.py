"""Day 27: standard attention.

See:    softmax(Q K^T / sqrt(D)) V as its formula says, a kernel a step. Every step is a good kernel; between the steps the M x N scores go to memory and come
        back. Causal: a query sees no later key, its score there is -inf and its weight 0.
Run:    nereid test day27_attention
        nereid bench day27_attention
Change: leave the scale out (1 / sqrt(D)). Results stay finite, but nearly all weight goes to one key: look at the weights.
"""
doc = "Attention, one kernel a step, by kernels/attention_standard"
library = "../../../kernels/attention_standard/kernel.py"


def inputs(B, H, M, D, causal):
    shape = (B, H, M, D)
    return dict(q=randn(shape, "f32"), k=randn(shape, "f32"), v=randn(shape, "f32"))


def outputs(B, H, M, D):
    return dict(out=empty((B, H, M, D), "f32"))


def standard(q, k, v, out, causal):
    B, H, M, D = q.shape
    s, weights, lse = empty((B, H, M, M), "f32"), empty((B, H, M, M), "f32"), empty((B, H, M), "f32")
    tiles = dict(D=D, BLOCK_D=max(next_power_of_2(D), 16), BLOCK_M=32, BLOCK_N=32, PRECISION="ieee")
    mask = launch(f"{library}:apply_mask", (M, cdiv(M, 1024), B * H), s, None, H, M, M, 0, 0, 0, BLOCK=1024, CAUSAL=True)
    return [
        launch(f"{library}:scores", (cdiv(M, 32), cdiv(M, 32), B * H), q, k, s, H, 1, M, M, 1 / sqrt(D), **tiles),
        *([mask] if causal else []),
        launch(f"{library}:softmax", (B * H * M,), s, weights, lse, M, BLOCK=next_power_of_2(M)),
        launch(f"{library}:weighted_values", (cdiv(M, 32), B * H), weights, v, out, H, 1, M, M, **tiles),
    ]


cases = [dict(B=2, H=2, M=m, D=d, causal=c) for (m, d) in ((1, 16), (50, 32), (64, 24)) for c in (False, True)]
bench = [dict(B=1, H=4, M=512, D=64, causal=c) for c in (False, True)]
variants = dict(standard=standard)
# Scores of size up to sqrt(D) are off by some units each; weights sum to 1 and values are of order 1.
tolerance = lambda: dict(rel=16 * eps("f32"), abs=64 * eps("f32"))
flops = lambda B, H, M, D: 4 * B * H * M * M * D
