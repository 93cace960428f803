"""Day 31: online softmax.

See:    a weighted mean of values, with weights exp(s) that come in pieces. Three numbers are carried: the maximum m, the sum l, the weighted sum acc. When m grows,
        l and acc were computed with the wrong one: both are multiplied by exp(m - m_new), which is exact in the sense that counts.
Run:    nereid test day31_online --all-configs
Change: forget to rescale `acc`. The case of falling scores still passes (its maximum comes first), the one of rising scores does not.
"""
doc = "softmax(s) v by pieces of a row"


def inputs(M, N, order):
    if order == "random":
        return dict(s=randn((M, N), "f32", std=3), v=randn((N,), "f32"))
    step = 0.5 if order == "rising" else -0.5
    return dict(s=values([[step * j for j in range(N)] for i in range(M)], "f32"), v=randn((N,), "f32"))


def outputs(M):
    return dict(out=empty((M,), "f32"), lse=empty((M,), "f32"))


def online(s, v, out, lse, M, N, BLOCK):
    return [launch("online", (M,), s, v, out, lse, N, BLOCK=BLOCK)]


cases = [dict(M=3, N=n, order=o) for n in (1, 64, 300) for o in ("random", "rising", "falling")]
variants = dict(online=dict(run=online, configs=[dict(BLOCK=b) for b in (32, 16, 512)]))
# A score of 150 is off by half a unit of itself, which exp makes a relative error of its weight.
tolerance = lambda N: dict(out=dict(rel=32 * eps("f32"), abs=(16 + sqrt(N)) * eps("f32")), lse=dict(rel=4 * eps("f32"), abs=32 * eps("f32")))
