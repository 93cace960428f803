import numpy as np
from nereid.reference import uniform


def reference(x, dy, p, seed):
    keep = uniform(seed, np.arange(x.shape[0])) > p
    return dict(y=np.where(keep, x / (1 - p), 0), dx=np.where(keep, dy / (1 - p), 0))
