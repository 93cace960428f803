"""Exercise 16: GEMM, tuned, and profiled beside a library.

See:    an autotuned kernel: its list of configurations stands above it, a measurement chooses. `profile` shows where the time goes; `bench` how much there is. The
        same rows beside cuBLAS: python bench/peers.py from this repository, on a machine with PyTorch and a GPU.
Run:    nereid test ex_16_gemm
        nereid tune ex_16_gemm/kernel.py:gemm --device cpu --dry-run --grid "(cdiv(M, BLOCK_M) * cdiv(N, BLOCK_N),)" --arg "a=randn(128x128,f32)" --arg "b=randn(128x128,f32)" --arg "c=empty(128x128,f32)" --arg M=128 --arg N=128 --arg K=128
        (on a GPU) nereid bench ex_16_gemm --match large --all-configs
        (C++) tuning                           tunes from a program, keeps what it found, and launches it
Change: add a configuration of your own; make K the largest dimension. Does the order of the list change?
"""
doc = "C = A B by an autotuned kernel"


def inputs(M, N, K, dtype):
    return dict(a=randn((M, K), dtype), b=randn((K, N), dtype))


def outputs(M, N):
    return dict(c=empty((M, N), "f32"))


def gemm(a, b, c, M, N, K, BLOCK_M, BLOCK_N, BLOCK_K, num_warps, num_stages):
    return [launch("gemm", (cdiv(M, BLOCK_M) * cdiv(N, BLOCK_N),), a, b, c, M, N, K, BLOCK_M=BLOCK_M, BLOCK_N=BLOCK_N, BLOCK_K=BLOCK_K,
                   num_warps=num_warps, num_stages=num_stages)]


def tile(m, n, k, warps, stages):
    return dict(BLOCK_M=m, BLOCK_N=n, BLOCK_K=k, num_warps=warps, num_stages=stages)


cases = [dict(M=m, N=n, K=k, dtype=d) for (m, n, k, d) in ((100, 70, 50, "f16"), (33, 129, 64, "f32"))]
bench = [dict(label="small", M=256, N=256, K=256, dtype="f32"), dict(label="large", M=8192, N=8192, K=8192, dtype="f16")]
variants = dict(gemm=dict(run=gemm, configs=[tile(32, 32, 32, 4, 3), tile(64, 64, 32, 4, 3), tile(128, 128, 64, 8, 3), tile(128, 256, 64, 8, 3)]))
tolerance = lambda K: dict(rel=8 * eps("f32"), abs=1.2 * K * eps("f32"))
flops = lambda M, N, K: 2 * M * N * K
peers = dict(torch="torch.matmul(a, b)")
