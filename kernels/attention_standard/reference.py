import numpy as np
from nereid.reference import uniform


def reference(q, k, v, bias, scale, p, seed, causal):
    B, H, M, D = q.shape
    N, group = k.shape[2], H // k.shape[1]
    s = scale * (q @ np.repeat(k, group, axis=1).swapaxes(2, 3))
    if bias is not None:
        s = s + bias
    if causal:
        s = np.where(np.arange(N)[None, :] <= np.arange(M)[:, None] + (N - M), s, -np.inf)
    peak = np.max(s, axis=3, keepdims=True)
    peak = np.where(peak == -np.inf, 0, peak)
    e = np.exp(s - peak)
    total = np.sum(e, axis=3, keepdims=True)
    safe = np.where(total == 0, 1, total)
    weights = e / safe
    if p > 0:
        keep = uniform(seed, np.arange(B * H * M * N)).reshape(B, H, M, N) > p
        weights = np.where(keep, weights / (1 - p), 0)
    lse = np.where(total == 0, -np.inf, np.log(safe) + peak)
    return dict(out=weights @ np.repeat(v, group, axis=1), lse=lse[:, :, :, 0])
