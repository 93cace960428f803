"""Day 25: dropout in no memory, by a seed.

See:    `tl.rand(seed, offset)` is a function: the same seed and offset give the same number, in any order, on any device. So the mask need not be kept: the
        backward pass draws it again. Arithmetic is paid for memory, which is the better trade on every chip.
Run:    nereid test day25_seeded_dropout
        nereid bench day24_dropout day25_seeded_dropout --match small
Change: the seed of the backward launch. The forward pass still passes, the gradient does not.
"""
doc = "Dropout forward and backward from a seed, by kernels/dropout"
library = "../../../kernels/dropout/kernel.py"


def inputs(n, p, seed=123):
    return dict(x=randn((n,), "f32"), dy=randn((n,), "f32"), p=p, seed=seed)


def outputs(n):
    return dict(y=empty((n,), "f32"), dx=empty((n,), "f32"))


def seeded(x, dy, y, dx, n, p, seed):
    grid = (cdiv(n, 1024),)
    return [
        launch(f"{library}:dropout_seeded", grid, x, y, n, p, seed, BLOCK=1024),
        launch(f"{library}:dropout_seeded", grid, dy, dx, n, p, seed, BLOCK=1024),
    ]


cases = [dict(n=n, p=p) for (n, p) in ((1, 0.5), (1000, 0.125), (5000, 0.5), (100, 0.0))] + [dict(n=1000, p=0.5, seed=s) for s in (-1, 1 << 40)]
bench = [dict(label="small", n=1 << 20, p=0.5), dict(label="large", n=1 << 28, p=0.5)]
variants = dict(seeded=seeded)
tolerance = lambda: dict(rel=12 * eps("f32"), abs=1e-38)
