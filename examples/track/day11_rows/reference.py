import numpy as np


def reference(x):
    return dict(total=np.sum(x, axis=1), peak=np.max(x, axis=1), place=np.argmax(x, axis=1))
