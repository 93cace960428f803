import numpy as np


def reference(x):
    return dict(total=np.sum(x).reshape(1))
