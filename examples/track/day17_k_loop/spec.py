"""Day 17: the loop over K, and what to accumulate in.

See:    C's tile stays in registers while tiles of A and B stream by. The sum must be wider than its terms: with f16 sums every step rounds a growing number,
        and the error grows with K (compare the column `max error` of the two tasks).
Run:    nereid test day17_k_loop
Change: BLOCK_K from 32 to 16: twice the roundings for the f16 sums, nothing for f32.
"""
doc = "C = A B for any K, with sums in f32 and in f16"


def inputs(M, N, K):
    return dict(a=randn((M, K), "f16"), b=randn((K, N), "f16"))


def outputs(M, N):
    return dict(c=empty((M, N), "f32"))


def run(a, b, c, M, N, K, SUMS):
    return [launch("matmul", (cdiv(M, 32), cdiv(N, 32)), a, b, c, M, N, K, SUMS=SUMS, BLOCK_M=32, BLOCK_N=32, BLOCK_K=32)]


cases = [dict(M=m, N=n, K=k) for (m, n, k) in ((32, 32, 32), (40, 50, 100), (33, 20, 1000))]
flops = lambda M, N, K: 2 * M * N * K
tasks = dict(
    # K products of order 1, summed in f32.
    sums_f32=dict(variants=dict(loop=lambda a, b, c, M, N, K: run(a, b, c, M, N, K, "f32")),
                  tolerance=lambda K: dict(rel=8 * eps("f32"), abs=1.2 * K * eps("f32"))),
    # A sum that has grown to a few times sqrt(K) is rounded to f16 in each step.
    sums_f16=dict(variants=dict(loop=lambda a, b, c, M, N, K: run(a, b, c, M, N, K, "f16")),
                  tolerance=lambda K: dict(rel=0, abs=cdiv(K, 32) * 5 * sqrt(K) * eps("f16") / 2)),
)
