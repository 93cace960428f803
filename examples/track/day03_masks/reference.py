import numpy as np


def reference(x, n):
    return dict(out=np.concatenate([np.zeros(1), x[: n - 1]]))
