import numpy as np


def block_each(n, BLOCK):
    return dict(out=np.arange(n) // BLOCK)


def striding(n, BLOCK, programs):
    return dict(out=np.arange(n) // BLOCK % programs)
