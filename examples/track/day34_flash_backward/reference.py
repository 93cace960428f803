import numpy as np


def loss(q, k, v, do, causal):
    """A number; its gradient by O is dO. Arguments may have more dimensions in front."""
    M, N, D = q.shape[-2], k.shape[-2], q.shape[-1]
    s = q @ k.swapaxes(-1, -2) / np.sqrt(D)
    if causal:
        s = np.where(np.arange(N)[None, :] <= np.arange(M)[:, None] + (N - M), s, -np.inf)
    e = np.exp(s - np.max(s, axis=-1, keepdims=True))
    return np.sum(np.sum(do * (e / np.sum(e, axis=-1, keepdims=True) @ v), axis=-1), axis=-1)


def moved(x):
    """[elements, rows, D]: x with one element moved by h, for each element, up and down."""
    h = 1e-5
    rows, D = x.shape[-2], x.shape[-1]
    change = np.where(np.arange(rows * D)[:, None] == np.arange(rows * D)[None, :], h, 0.0).reshape(rows * D, rows, D)
    return x + change, x - change


def reference(q, k, v, do, causal):
    q, k, v, do = q[0, 0], k[0, 0], v[0, 0], do[0, 0]
    slope = lambda up, down, like: ((up - down) / 2e-5).reshape(1, 1, like.shape[0], like.shape[1])
    (q1, q0), (k1, k0), (v1, v0) = moved(q), moved(k), moved(v)
    return dict(
        dq=slope(loss(q1, k, v, do, causal), loss(q0, k, v, do, causal), q),
        dk=slope(loss(q, k1, v, do, causal), loss(q, k0, v, do, causal), k),
        dv=slope(loss(q, k, v1, do, causal), loss(q, k, v0, do, causal), v),
    )
