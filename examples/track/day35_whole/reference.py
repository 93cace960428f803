import numpy as np
from nereid.reference import uniform


def reference(q, k, v, do, p, seed):
    B, H, M, D = q.shape
    kv = k.shape[1]
    group, scale = H // kv, 1 / np.sqrt(D)
    kk, vv = np.repeat(k, group, axis=1), np.repeat(v, group, axis=1)
    s = np.where(np.arange(M)[None, :] <= np.arange(M)[:, None], scale * (q @ kk.swapaxes(2, 3)), -np.inf)
    e = np.exp(s - np.max(s, axis=3, keepdims=True))
    weights = e / np.sum(e, axis=3, keepdims=True)
    kept = np.where(uniform(seed, np.arange(H * M * M)).reshape(B, H, M, M) > p, 1 / (1 - p), 0) if p > 0 else 1
    dp = kept * (do @ vv.swapaxes(2, 3))
    ds = weights * (dp - np.sum(weights * dp, axis=3, keepdims=True))
    shared = lambda x: np.sum(x.reshape(B, kv, group, M, D), axis=2)  # a key's head serves `group` heads
    return dict(
        out=(weights * kept) @ vv,
        dq=scale * (ds @ kk),
        dk=shared(scale * (ds.swapaxes(2, 3) @ q)),
        dv=shared((weights * kept).swapaxes(2, 3) @ do),
    )
