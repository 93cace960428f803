"""Day 23: fused layer norm, forward and backward.

See:    the forward pass leaves mean and 1 / deviation of each row, two numbers, so that the backward pass need not sum again. dx belongs to a row; dw and db
        are sums over all rows: parts first, then a second launch that adds the parts in order.
Run:    nereid test day23_layer_norm
Change: the sign of one term of row_gradient in kernels/layer_norm/backward.py. The reference here knows no formula of a gradient: it moves each number of x
        a little and looks at the loss (finite differences in f64).
"""
doc = "Layer norm forward and backward by kernels/layer_norm, gradients against finite differences"
library = "../../../kernels/layer_norm"


def inputs(M, N):
    return dict(x=randn((M, N), "f32"), w=randn((N,), "f32", mean=1, std=0.2), b=randn((N,), "f32"), dy=randn((M, N), "f32"), epsilon=1e-5)


def outputs(M, N):
    return dict(y=empty((M, N), "f32"), dx=empty((M, N), "f32"), dw=empty((N,), "f32"), db=empty((N,), "f32"))


def whole(x, w, b, dy, y, dx, dw, db, M, N, epsilon, PARTS=4):
    block = next_power_of_2(N)
    mean, rstd = empty((M,), "f32"), empty((M,), "f32")
    rows = cdiv(M, PARTS)
    parts = cdiv(M, rows)
    dw_part, db_part = empty((parts, N), "f32"), empty((parts, N), "f32")
    return [
        launch(f"{library}/kernel.py:layer_norm_row", (M,), x, w, b, y, mean, rstd, N, N, N, epsilon, BLOCK=block),
        launch(f"{library}/backward.py:backward_lock_free", (parts,), x, w, dy, mean, rstd, dx, dw_part, db_part, M, N, rows, BLOCK=block),
        launch(f"{library}/backward.py:sum_partials", (cdiv(N, 128),), dw_part, db_part, dw, db, parts, N, BLOCK_M=32, BLOCK_N=128),
    ]


cases = [dict(M=m, N=n) for (m, n) in ((1, 8), (7, 50), (20, 33))]
variants = dict(whole=whole)
# Sums of N terms in f32 for rows, of M terms for columns; short rows have large 1 / deviation.
tolerance = lambda M, N: dict(rel=16 * eps("f32"), abs=(64 + M + N) * eps("f32"))
