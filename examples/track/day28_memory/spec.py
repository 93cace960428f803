"""Day 28: what n x n costs.

See:    two matrices of n x n a head: 32 heads of 16384 tokens make 51 GB in f16 and f32. FlashAttention keeps one number a query. Doubling n multiplies the
        memory of the first by four and of the second by two: slopes of 2 and 1 on logarithmic axes.
Run:    nereid test day28_memory
        nereid bench day28_memory --json
Change: the dtype of scores and weights to f16. The slope stays.
"""
doc = "Peak memory of attention: scores kept, or never written"
standard_kernels = "../../../kernels/attention_standard/kernel.py"
flash_kernels = "../../../kernels/flash_attention/kernel.py"


def inputs(H, M, D):
    return dict(q=randn((1, H, M, D), "f16"), k=randn((1, H, M, D), "f16"), v=randn((1, H, M, D), "f16"))


def outputs(H, M, D):
    return dict(out=empty((1, H, M, D), "f16"), lse=empty((1, H, M), "f32"))


def standard(q, k, v, out, lse, H, M, D):
    s, weights = empty((1, H, M, M), "f32"), empty((1, H, M, M), "f16")
    tiles = dict(D=D, BLOCK_D=D, BLOCK_M=64, BLOCK_N=64, PRECISION="tf32")
    return [
        launch(f"{standard_kernels}:scores", (cdiv(M, 64), cdiv(M, 64), H), q, k, s, H, 1, M, M, 1 / sqrt(D), **tiles),
        launch(f"{standard_kernels}:softmax", (H * M,), s, weights, lse, M, BLOCK=next_power_of_2(M)),
        launch(f"{standard_kernels}:weighted_values", (cdiv(M, 64), H), weights, v, out, H, 1, M, M, **tiles),
    ]


def flash(q, k, v, out, lse, H, M, D):
    strides = [*q.strides[:3], *k.strides[:3], *v.strides[:3], 0, 0, 0, *out.strides[:3]]
    return [launch(f"{flash_kernels}:flash_forward", (cdiv(M, 64), H), q, k, v, None, out, lse, *strides, H, 1, M, M, 1 / sqrt(D), 0.0, 0,
                   D=D, BLOCK_D=D, BLOCK_M=64, BLOCK_N=64, CAUSAL=False, DROPOUT=False, PRECISION="tf32")]


cases = [dict(H=2, M=m, D=32) for m in (64, 100)]
bench = [dict(H=1, M=m, D=32) for m in (256, 512, 1024, 2048)]
variants = dict(standard=standard, flash=flash)


def tolerance():
    # Weights are rounded to f16 before they meet V, and the result once more.
    return dict(out=dict(rel=eps("f16"), abs=2 * eps("f16")), lse=dict(rel=16 * eps("f32"), abs=128 * eps("f32")))


flops = lambda H, M, D: 4 * H * M * M * D
