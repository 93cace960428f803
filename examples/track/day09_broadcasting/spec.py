"""Day 9: vector operations and broadcasting.

See:    a column of M and a row of N give a tile of M x N: outer product, distances. 1 is stretched, nothing is copied.
Run:    nereid test day09_broadcasting
        nereid explain day09_broadcasting/kernel.py:distances --arg "x=randn(8,f32)" --arg "y=randn(16,f32)" --arg "out=empty(8x16,f32)" --const M=8 --const N=16
Change: distances of points in the plane, with two loads for x and two for y.
"""
doc = "Outer product and distances by broadcasting"


def inputs(M, N):
    return dict(x=randn((M,), "f32"), y=randn((N,), "f32"))


def outputs(M, N):
    return dict(out=empty((M, N), "f32"))


cases = [dict(M=m, N=n) for (m, n) in ((1, 1), (8, 16), (64, 32))]
# Products and differences are rounded once each.
tolerance = lambda: dict(rel=2 * eps("f32"), abs=1e-45)
tasks = dict(
    outer=dict(variants=dict(tile=lambda x, y, out, M, N: [launch("outer", (1,), x, y, out, M=M, N=N)])),
    distances=dict(variants=dict(tile=lambda x, y, out, M, N: [launch("distances", (1,), x, y, out, M=M, N=N)])),
)
