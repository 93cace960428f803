import numpy as np


def reference(x):
    e = np.exp(x - np.max(x, axis=1, keepdims=True))
    return dict(y=e / np.sum(e, axis=1, keepdims=True))
