"""Day 11: reductions along rows.

See:    a row a program, or several rows a program as a tile of two dimensions that is reduced along `axis=1`. Short rows want the second: a row of 64 leaves
        most lanes of a program of four warps idle.
Run:    nereid test day11_rows
        nereid bench day11_rows
Change: ROWS of the second variant. Which is best for N = 64, which for N = 4096?
"""
doc = "Sum, maximum and place of the maximum of each row"


def inputs(M, N):
    return dict(x=randn((M, N), "f32"))


def outputs(M):
    return dict(total=empty((M,), "f32"), peak=empty((M,), "f32"), place=empty((M,), "i32"))


def row_each(x, total, peak, place, M, N):
    return [launch("rows", (M,), x, total, peak, place, M, N, ROWS=1, BLOCK=next_power_of_2(N))]


def several_rows(x, total, peak, place, M, N, ROWS):
    return [launch("rows", (cdiv(M, ROWS),), x, total, peak, place, M, N, ROWS=ROWS, BLOCK=next_power_of_2(N))]


cases = [dict(M=m, N=n) for (m, n) in ((1, 1), (5, 64), (33, 100), (3, 1000))]
bench = [dict(M=m, N=n) for (m, n) in ((16384, 64), (1024, 4096))]
variants = dict(row_each=row_each, several_rows=dict(run=several_rows, configs=[dict(ROWS=r) for r in (8, 2, 32)]))


def tolerance(N):
    return dict(total=dict(rel=0, abs=(4 + sqrt(N)) * log2(N + 1) * eps("f32")), peak=dict(rel=0, abs=0), place=dict(rel=0, abs=0))
