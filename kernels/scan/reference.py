import numpy as np


def rows(x):
    return dict(y=np.cumsum(x, axis=1))


def vector(x):
    return dict(y=np.cumsum(x, axis=0))


def histogram(x, bins):
    return dict(counts=np.sum((x[None, :] == np.arange(bins)[:, None]).astype(np.int64), axis=1))
