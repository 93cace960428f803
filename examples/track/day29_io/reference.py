import numpy as np


def reference(q, k, v, D):
    s = q @ k.swapaxes(2, 3) / np.sqrt(D)
    peak = np.max(s, axis=3, keepdims=True)
    e = np.exp(s - peak)
    total = np.sum(e, axis=3, keepdims=True)
    return dict(out=e / total @ v, lse=(peak + np.log(total))[:, :, :, 0])
