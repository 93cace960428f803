"""Exercise 17: a library's GEMM, a kernel chosen by the problem.

See:    no kernel is best for all sizes. Many tiles: large tiles in grouped order. Few tiles and a long K: split-K. Few rows: tiles of 16 rows. And the epilogue
        belongs into the kernel: bias and activation cost nothing in registers, and two passes over C as launches of their own.
Run:    nereid test ex_17_selection
        nereid bench ex_17_selection --match small
        (on a GPU) nereid bench ex_17_selection --match large
        (C++) selection                        the rule as a program: it chooses, launches, and says what it chose
Change: the bounds of the rule in `chosen`. Is it better than any one variant over all the cases of `bench`?
"""
doc = "C = activation(A B + bias) by kernels/matmul: a rule, and what it chooses from"
library = "../../../kernels/matmul"


def inputs(M, N, K, activation):
    return dict(a=randn((M, K), "f16"), b=randn((K, N), "f16"), bias=randn((N,), "f16"))


def outputs(M, N):
    return dict(c=empty((M, N), "f16"))


def tiled(a, b, bias, c, M, N, K, activation, tile):
    m, n, k, warps = tile
    return [launch(f"{library}/kernel.py:matmul", (cdiv(M, m) * cdiv(N, n),), a, b, bias, c, M, N, K, *a.strides, *b.strides, *c.strides,
                   BLOCK_M=m, BLOCK_N=n, BLOCK_K=k, GROUP_M=8, ACTIVATION=activation, PRECISION="ieee", num_warps=warps)]


def split(a, b, bias, c, M, N, K, activation):
    depth = cdiv(cdiv(K, 8), 64) * 64
    splits = cdiv(K, depth)
    partial = empty((splits, M, N), "f32")
    return [
        launch(f"{library}/kernel.py:matmul_split_k", (cdiv(M, 32) * cdiv(N, 64), splits), a, b, partial, M, N, K, depth, *a.strides, *b.strides,
               BLOCK_M=32, BLOCK_N=64, BLOCK_K=64, PRECISION="ieee"),
        launch(f"{library}/kernel.py:sum_splits", (M, cdiv(N, 512)), partial, bias, c, M, N, splits, *c.strides, BLOCK=512, ACTIVATION=activation),
    ]


def chosen(a, b, bias, c, M, N, K, activation):
    if M <= 16:
        return tiled(a, b, bias, c, M, N, K, activation, (16, 128, 64, 4))
    if cdiv(M, 128) * cdiv(N, 128) >= 132:
        return tiled(a, b, bias, c, M, N, K, activation, (128, 128, 64, 8))
    if K >= 8 * max(M, N):
        return split(a, b, bias, c, M, N, K, activation)
    return tiled(a, b, bias, c, M, N, K, activation, (64, 64, 32, 4))


def unfused_epilogue(a, b, bias, c, M, N, K, activation):
    product, biased = empty((M, N), "f32"), empty((M, N), "f32")
    return [
        *tiled(a, b, None, product, M, N, K, "none", (64, 64, 32, 4)),
        launch(f"{library}/unfused.py:add_bias", (M, cdiv(N, 512)), product, bias, biased, N, BLOCK=512),
        launch(f"{library}/unfused.py:apply", (cdiv(M * N, 1024),), biased, c, M * N, BLOCK=1024, ACTIVATION=activation),
    ]


cases = [dict(M=m, N=n, K=k, activation=f) for (m, n, k, f) in ((5, 200, 64, "none"), (70, 80, 64, "gelu"), (20, 30, 500, "relu"), (64, 64, 64, "silu"))]
bench = [dict(label=f"small {m} {n} {k}", M=m, N=n, K=k, activation="gelu") for (m, n, k) in ((16, 512, 256), (256, 256, 256), (32, 32, 4096))]
bench += [dict(label=f"large {m} {n} {k}", M=m, N=n, K=k, activation="gelu") for (m, n, k) in ((16, 8192, 8192), (8192, 8192, 8192), (64, 64, 65536))]
variants = dict(
    chosen=chosen,
    tile_64=lambda a, b, bias, c, M, N, K, activation: tiled(a, b, bias, c, M, N, K, activation, (64, 64, 32, 4)),
    split_k=split,
    unfused_epilogue=unfused_epilogue,
)
# Sums in f32 of K products, an activation of slope up to 1.13, one rounding to f16.
tolerance = lambda K: dict(rel=8 * eps("f32") + eps("f16") / 2, abs=1.4 * K * eps("f32") + 1e-7)
flops = lambda M, N, K: 2 * M * N * K
