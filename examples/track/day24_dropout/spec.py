"""Day 24: dropout with a mask in memory.

See:    a mask is drawn, kept, and used again in the backward pass. What is kept is divided by 1 - p, so that the mean stays. The mask costs a byte an element
        of memory for as long as the backward pass is to come, and a write and two reads.
Run:    nereid test day24_dropout
        nereid bench day24_dropout --match small
Change: p to 0 and towards 1. Tomorrow the mask goes.
"""
doc = "Dropout forward and backward through a stored mask, by kernels/dropout"
library = "../../../kernels/dropout/kernel.py"


def inputs(n, p):
    return dict(x=randn((n,), "f32"), dy=randn((n,), "f32"), p=p, seed=123)


def outputs(n):
    return dict(y=empty((n,), "f32"), dx=empty((n,), "f32"))


def stored_mask(x, dy, y, dx, n, p, seed):
    mask, grid = empty((n,), "i8"), (cdiv(n, 1024),)
    return [
        launch(f"{library}:draw_mask", grid, mask, n, p, seed, BLOCK=1024),
        launch(f"{library}:dropout_stored", grid, x, mask, y, n, p, BLOCK=1024),
        launch(f"{library}:dropout_stored", grid, dy, mask, dx, n, p, BLOCK=1024),
    ]


cases = [dict(n=n, p=p) for (n, p) in ((1, 0.5), (1000, 0.125), (5000, 0.5), (100, 0.0))]
bench = [dict(label="small", n=1 << 20, p=0.5), dict(label="large", n=1 << 28, p=0.5)]
variants = dict(stored_mask=stored_mask)
tolerance = lambda: dict(rel=12 * eps("f32"), abs=1e-38)
