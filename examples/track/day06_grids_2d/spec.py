"""Day 6: grids of two and three dimensions.

See:    a program id a dimension. A tile of rows and columns is built from two ranges, one as a column (`[:, None]`) and one as a row (`[None, :]`).
Run:    nereid test day06_grids_2d --all-configs
Change: the shape of the tile; then give the batch to axis 0. Results stay, the order in which memory is visited does not.
"""
doc = "Each matrix of a batch plus a row of its own, in tiles"


def inputs(B, M, N):
    return dict(x=randn((B, M, N), "f32"), row=randn((B, N), "f32"))


def outputs(B, M, N):
    return dict(out=empty((B, M, N), "f32"))


def tiles(x, row, out, B, M, N, ROWS, COLUMNS):
    return [launch("add_row", (cdiv(M, ROWS), cdiv(N, COLUMNS), B), x, row, out, M, N, ROWS=ROWS, COLUMNS=COLUMNS)]


cases = [dict(B=b, M=m, N=n) for (b, m, n) in ((1, 16, 16), (1, 33, 70), (3, 20, 45))]
variants = dict(tiles=dict(run=tiles, configs=[dict(ROWS=r, COLUMNS=c) for (r, c) in ((16, 16), (8, 32), (1, 128))]))
tolerance = lambda: dict(rel=eps("f32") / 2, abs=1e-45)
