"""Day 33: the backward pass on paper.

See:    O = P V with P = softmax(S). For a loss with gradient dO: dV = P^T dO, dP = dO V^T, and through the softmax dS = P * (dP - delta), where delta is the sum of
        P * dP over a row. That sum needs the whole row of P; but it is also the sum of O * dO over D, which is at hand. That identity is what lets the
        backward pass work tile by tile. Both variants compute it; the reference moves each score a little and looks at the loss.
Run:    nereid test day33_backward_theory
Change: leave delta out. Which property of softmax is lost? (The gradient of a shift of S must be 0: rows of dS sum to 0.)
"""
doc = "dS by the sum of P dP and by the sum of O dO"


def inputs(M, N, D):
    return dict(s=randn((M, N), "f32"), v=randn((N, D), "f32"), do=randn((M, D), "f32"))


def outputs(M, N):
    return dict(ds=empty((M, N), "f32"))


def run(s, v, do, ds, M, N, D, by_output):
    return [launch("score_gradient", (M,), s, v, do, ds, N=N, D=D, BY_OUTPUT=by_output)]


cases = [dict(M=m, N=n, D=d) for (m, n, d) in ((1, 16, 16), (5, 32, 16), (3, 64, 32))]
variants = dict(by_weights=lambda s, v, do, ds, M, N, D: run(s, v, do, ds, M, N, D, False),
                by_output=lambda s, v, do, ds, M, N, D: run(s, v, do, ds, M, N, D, True))
# dP is a sum of D terms of order 1; delta cancels against it; P is below 1.
tolerance = lambda D: dict(rel=32 * eps("f32"), abs=4 * D * eps("f32"))
