"""Day 20: split-K.

See:    a product with a small C and a long K has too few tiles to fill the machine: 64 x 64 is one tile of 64 x 64, one multiprocessor of 132. Slices of K
        become programs too; their sums are added by a second launch, in order, so that the bits do not depend on timing.
Run:    nereid test day20_split_k --all-configs
        nereid bench day20_split_k --match small
        (on a GPU) nereid bench day20_split_k --match large
Change: SPLITS. Its price is memory: SPLITS x M x N numbers written and read (`nereid bench --json`, peak_bytes).
"""
doc = "A long sum in slices, by kernels/matmul"
library = "../../../kernels/matmul/kernel.py"


def inputs(M, N, K):
    return dict(a=randn((M, K), "f16"), b=randn((K, N), "f16"))


def outputs(M, N):
    return dict(c=empty((M, N), "f32"))


def whole(a, b, c, M, N, K):
    return [launch(f"{library}:matmul", (cdiv(M, 32) * cdiv(N, 64),), a, b, None, c, M, N, K, *a.strides, *b.strides, *c.strides,
                   BLOCK_M=32, BLOCK_N=64, BLOCK_K=64, GROUP_M=8, ACTIVATION="none", PRECISION="ieee")]


def split(a, b, c, M, N, K, SPLITS):
    depth = cdiv(cdiv(K, SPLITS), 64) * 64
    splits = cdiv(K, depth)
    partial = empty((splits, M, N), "f32")
    return [
        launch(f"{library}:matmul_split_k", (cdiv(M, 32) * cdiv(N, 64), splits), a, b, partial, M, N, K, depth, *a.strides, *b.strides,
               BLOCK_M=32, BLOCK_N=64, BLOCK_K=64, PRECISION="ieee"),
        launch(f"{library}:sum_splits", (M, cdiv(N, 512)), partial, None, c, M, N, splits, *c.strides, BLOCK=512, ACTIVATION="none"),
    ]


cases = [dict(M=m, N=n, K=k) for (m, n, k) in ((20, 30, 1000), (64, 64, 64), (1, 1, 300))]
bench = [dict(label="small", M=64, N=64, K=16384), dict(label="large", M=64, N=64, K=1 << 20)]
variants = dict(split=dict(run=split, configs=[dict(SPLITS=s) for s in (16, 4, 64)]), whole=whole)
tolerance = lambda K: dict(rel=8 * eps("f32"), abs=1.2 * K * eps("f32"))
flops = lambda M, N, K: 2 * M * N * K
