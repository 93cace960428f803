import triton
import triton.language as tl


@triton.jit
def score_gradient(s, v, do, ds, N: tl.constexpr, D: tl.constexpr, BY_OUTPUT: tl.constexpr):
    row = tl.program_id(0)
    j = tl.arange(0, N)
    d = tl.arange(0, D)
    x = tl.load(s + row * N + j)
    e = tl.exp(x - tl.max(x, axis=0))
    p = e / tl.sum(e, axis=0)
    values = tl.load(v + j[:, None] * D + d[None, :])
    gradient = tl.load(do + row * D + d)
    dp = tl.sum(values * gradient[None, :], axis=1)  # dO V^T
    if BY_OUTPUT:
        o = tl.sum(p[:, None] * values, axis=0)  # P V: what the forward pass stored
        delta = tl.sum(o * gradient, axis=0)
    else:
        delta = tl.sum(p * dp, axis=0)
    tl.store(ds + row * N + j, p * (dp - delta))
