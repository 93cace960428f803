import numpy as np


def reference(q, k, v, causal):
    M, N, D = q.shape[1], k.shape[1], q.shape[2]
    s = q @ k.swapaxes(1, 2) / np.sqrt(D)
    if causal:
        s = np.where(np.arange(N)[None, :] <= np.arange(M)[:, None] + (N - M), s, -np.inf)
    peak = np.max(s, axis=2, keepdims=True)
    e = np.exp(s - peak)
    total = np.sum(e, axis=2, keepdims=True)
    return dict(out=e / total @ v, lse=(peak + np.log(total))[:, :, 0])
