"""Day 21: grouped GEMM.

See:    many products of unequal sizes in one launch, as the experts of a mixture need. A fixed number of programs walks the tiles of all groups; each finds
        its next tile by counting. No group waits for another, and a group of no rows costs nothing.
Run:    nereid test day21_grouped_gemm
        nereid bench day21_grouped_gemm --match small
Change: the number of programs; one group far larger than the others.
"""
doc = "C_g = A_g B_g for groups of unequal numbers of rows"


def inputs(rows, N, K):
    starts = [sum(rows[:g]) for g in range(len(rows) + 1)]
    return dict(a=randn((sum(rows), K), "f16"), b=randn((len(rows), K, N), "f16"), starts=values(starts, "i32"))


def outputs(rows, N):
    return dict(c=empty((sum(rows), N), "f32"))


def one_launch(a, b, c, starts, rows, N, K, PROGRAMS):
    return [launch("grouped_matmul", (PROGRAMS,), a, b, c, starts, len(rows), N, K, BLOCK_M=32, BLOCK_N=32, BLOCK_K=32)]


cases = [dict(label="unequal", rows=[5, 0, 70, 33], N=50, K=40), dict(label="one", rows=[64], N=64, K=64), dict(label="many", rows=[1, 2, 3, 4, 5, 6, 7], N=32, K=32)]
bench = [dict(label="small", rows=[16, 0, 256, 3, 100, 64, 32, 41], N=256, K=256), dict(label="large", rows=[2048, 0, 4096, 300, 1000, 64, 32, 652], N=4096, K=4096)]
variants = dict(one_launch=dict(run=one_launch, configs=[dict(PROGRAMS=p) for p in (132, 3)]))
tolerance = lambda K: dict(rel=8 * eps("f32"), abs=1.2 * K * eps("f32"))
flops = lambda rows, N, K: 2 * sum(rows) * N * K
