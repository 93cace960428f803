"""Day 19: tuning block sizes.

See:    large tiles use each loaded number more often, small ones give every multiprocessor something to do. Which wins depends on the shape: measure, and keep
        the answer beside the kernel (`nereid tune` writes tuned.json, which launches read).
Run:    nereid test day19_tuning --all-configs
        nereid tune day19_tuning --dry-run --device cpu --match small --seconds 0.05
        (on a GPU) nereid bench day19_tuning --match large --all-configs
Change: add a configuration; tune for M = 16, where a batch of decoded tokens meets a weight matrix.
"""
doc = "One product with seven tiles, by kernels/matmul"
library = "../../../kernels/matmul/kernel.py"


def inputs(M, N, K, dtype):
    return dict(a=randn((M, K), dtype), b=randn((K, N), dtype))


def outputs(M, N):
    return dict(c=empty((M, N), "f32"))


def matmul(a, b, c, M, N, K, BLOCK_M, BLOCK_N, BLOCK_K, num_warps, num_stages):
    return [launch(f"{library}:matmul", (cdiv(M, BLOCK_M) * cdiv(N, BLOCK_N),), a, b, None, c, M, N, K, *a.strides, *b.strides, *c.strides,
                   BLOCK_M=BLOCK_M, BLOCK_N=BLOCK_N, BLOCK_K=BLOCK_K, GROUP_M=8, ACTIVATION="none", PRECISION="ieee",
                   num_warps=num_warps, num_stages=num_stages)]


def tile(m, n, k, warps, stages):
    return dict(BLOCK_M=m, BLOCK_N=n, BLOCK_K=k, num_warps=warps, num_stages=stages)


cases = [dict(M=100, N=90, K=70, dtype="f16")]
bench = [dict(label="small", M=256, N=256, K=256, dtype="f32"), dict(label="large", M=8192, N=8192, K=8192, dtype="f16")]
variants = dict(matmul=dict(run=matmul, configs=[tile(16, 16, 16, 4, 3), tile(32, 32, 32, 4, 3), tile(64, 64, 32, 4, 3), tile(128, 128, 64, 8, 3),
                                                 tile(128, 256, 64, 8, 3), tile(64, 128, 32, 4, 4), tile(16, 128, 64, 4, 4)]))
tolerance = lambda K: dict(rel=8 * eps("f32"), abs=1.2 * K * eps("f32"))
flops = lambda M, N, K: 2 * M * N * K
