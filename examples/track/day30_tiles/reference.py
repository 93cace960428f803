import numpy as np


def reference(q, k):
    return dict(best=np.max(q @ k.T, axis=1))
