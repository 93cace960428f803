import numpy as np


def deviations(x):
    d = x - np.mean(x, axis=1, keepdims=True)
    return dict(variance=np.mean(d * d, axis=1))


def squares(x):
    d = x - np.mean(x, axis=1, keepdims=True)
    return dict(variance=np.mean(d * d, axis=1))
