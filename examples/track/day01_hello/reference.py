import numpy as np


def reference(programs):
    return dict(out=np.arange(programs))
