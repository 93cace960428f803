"""Exercise 18: FlashAttention against standard attention.

See:    the same numbers by two algorithms. Compute: five launches against one. Memory: n x n scores and weights a head against a number a query. Both figures stand
        in one row of `bench` (us, peak MB in --json).
Run:    nereid test ex_18_flash
        nereid bench ex_18_flash --match small
        (on a GPU) nereid bench ex_18_flash --match large
        (C++) memory                           measures peak memory over n and the slope of both
Change: n from 256 to 8192. Where does standard attention stop to fit, and where does it stop to be fast?
"""
doc = "Causal attention with dropout: a kernel a step, or one"
standard_kernels = "../../../kernels/attention_standard/kernel.py"
flash_kernels = "../../../kernels/flash_attention/kernel.py"


def inputs(B, H, M, D, dtype, p):
    shape = (B, H, M, D)
    return dict(q=randn(shape, dtype), k=randn(shape, dtype), v=randn(shape, dtype), seed=77)


def outputs(B, H, M, D, dtype):
    return dict(out=empty((B, H, M, D), dtype), lse=empty((B, H, M), "f32"))


def sizes(q):
    return dict(D=q.shape[3], BLOCK_D=max(next_power_of_2(q.shape[3]), 16), PRECISION="ieee" if q.dtype == "f32" else "tf32")


def standard(q, k, v, out, lse, p, seed, BLOCK):
    B, H, M, D = q.shape
    s, weights = empty((B, H, M, M), "f32"), empty((B, H, M, M), q.dtype)
    tiles = dict(BLOCK_M=BLOCK, BLOCK_N=BLOCK, **sizes(q))
    return [
        launch(f"{standard_kernels}:scores", (cdiv(M, BLOCK), cdiv(M, BLOCK), B * H), q, k, s, H, 1, M, M, 1 / sqrt(D), **tiles),
        launch(f"{standard_kernels}:apply_mask", (M, cdiv(M, 1024), B * H), s, None, H, M, M, 0, 0, 0, BLOCK=1024, CAUSAL=True),
        launch(f"{standard_kernels}:softmax", (B * H * M,), s, weights, lse, M, BLOCK=next_power_of_2(M), num_warps=4 if M <= 2048 else 8),
        *([launch(f"{standard_kernels}:dropout", (cdiv(B * H * M * M, 1024),), weights, B * H * M * M, p, seed, BLOCK=1024)] if p > 0 else []),
        launch(f"{standard_kernels}:weighted_values", (cdiv(M, BLOCK), B * H), weights, v, out, H, 1, M, M, **tiles),
    ]


def flash(q, k, v, out, lse, p, seed, BLOCK_M, BLOCK_N, num_warps):
    B, H, M, D = q.shape
    strides = [*q.strides[:3], *k.strides[:3], *v.strides[:3], 0, 0, 0, *out.strides[:3]]
    return [launch(f"{flash_kernels}:flash_forward", (cdiv(M, BLOCK_M), B * H), q, k, v, None, out, lse, *strides, H, 1, M, M, 1 / sqrt(D), p, seed,
                   BLOCK_M=BLOCK_M, BLOCK_N=BLOCK_N, CAUSAL=True, DROPOUT=p > 0, num_warps=num_warps, **sizes(q))]


cases = [dict(B=1, H=2, M=m, D=32, dtype="f32", p=p) for m in (1, 50) for p in (0.0, 0.25)] + [dict(B=2, H=2, M=64, D=64, dtype="f16", p=0.125)]
bench = [dict(label="small", B=1, H=2, M=512, D=64, dtype="f32", p=0.125), dict(label="large", B=4, H=32, M=4096, D=64, dtype="f16", p=0.125)]
variants = dict(
    standard=dict(run=standard, configs=[dict(BLOCK=b) for b in (32, 64)]),
    flash=dict(run=flash, configs=[dict(BLOCK_M=m, BLOCK_N=n, num_warps=w) for (m, n, w) in ((32, 32, 4), (64, 64, 4), (128, 64, 8))]),
)


def tolerance(dtype, p):
    unit = 16 * eps("f32")
    return dict(out=dict(rel=eps(dtype), abs=(2 * eps(dtype) + 8 * unit) / (1 - p)), lse=dict(rel=unit, abs=8 * unit))


flops = lambda B, H, M, D: 4 * B * H * D * M * (M + 1) // 2
