"""Day 13: fused softmax, and the online form.

See:    five launches send each intermediate result through memory; one launch keeps the row on the chip. The online form walks a row of any length in
        pieces and repairs its sum whenever the maximum grows: s = s * exp(m - m_new) + exp(x - m_new).
Run:    nereid test day13_softmax
        nereid bench day13_softmax
Change: in kernels/softmax/kernel.py:softmax_online start the maximum at -inf rather than at the least finite number; `nereid test` names the case that breaks.
"""
doc = "Softmax of rows: one pass, online, and one launch an operation, by kernels/softmax"
library = "../../../kernels/softmax"


def inputs(M, N):
    return dict(x=randn((M, N), "f32", std=3))


def outputs(M, N):
    return dict(y=empty((M, N), "f32"))


def fused(x, y, M, N):
    return [launch(f"{library}/kernel.py:softmax_row", (M,), x, y, N, N, N, BLOCK=next_power_of_2(N))]


def online(x, y, M, N):
    return [launch(f"{library}/kernel.py:softmax_online", (M,), x, y, N, N, N, BLOCK=256)]


def unfused(x, y, M, N):
    peak, total = empty((M,), "f32"), empty((M,), "f32")
    shifted, e = empty((M, N), "f32"), empty((M, N), "f32")
    tiles, steps = (M, cdiv(N, 1024)), f"{library}/unfused.py"
    return [
        launch(f"{steps}:row_max", (M,), x, peak, N, N, BLOCK=1024),
        launch(f"{steps}:subtract_row", tiles, x, peak, shifted, N, N, BLOCK=1024),
        launch(f"{steps}:exponential", (cdiv(M * N, 1024),), shifted, e, M * N, BLOCK=1024),
        launch(f"{steps}:row_sum", (M,), e, total, N, BLOCK=1024),
        launch(f"{steps}:divide_row", tiles, e, total, y, N, N, BLOCK=1024),
    ]


cases = [dict(M=m, N=n) for (m, n) in ((1, 1), (3, 100), (2, 1500))]
bench = [dict(M=512, N=1000)]
variants = dict(fused=fused, online=online, unfused=unfused)
tolerance = lambda N: dict(rel=(16 + sqrt(N)) * eps("f32"), abs=1e-38)
flops = lambda M, N: 5 * M * N
