import numpy as np


def loss(s, v, do):
    e = np.exp(s - np.max(s, axis=1, keepdims=True))
    return np.sum(do * (e / np.sum(e, axis=1, keepdims=True) @ v), axis=1)


def reference(s, v, do, N):
    h = 1e-5
    unit = lambda j: np.where(np.arange(N) == j, h, 0.0)
    return dict(ds=np.stack([(loss(s + unit(j), v, do) - loss(s - unit(j), v, do)) / (2 * h) for j in range(N)], axis=1))
