import numpy as np
from nereid.reference import uniform


def reference(q, k, v, p, seed):
    B, H, M, D = q.shape
    s = np.where(np.arange(M)[None, :] <= np.arange(M)[:, None], q @ k.swapaxes(2, 3) / np.sqrt(D), -np.inf)
    peak = np.max(s, axis=3, keepdims=True)
    e = np.exp(s - peak)
    total = np.sum(e, axis=3, keepdims=True)
    weights = e / total
    if p > 0:
        weights = np.where(uniform(seed, np.arange(B * H * M * M)).reshape(B, H, M, M) > p, weights / (1 - p), 0)
    return dict(out=weights @ v, lse=(peak + np.log(total))[:, :, :, 0])
