import numpy as np
from nereid.reference import uniform


def probabilities(q, k, bias, scale, causal):
    """P and the logarithm of each row's sum of exponentials; a row that sees no key is 0 and -inf."""
    M, N = q.shape[2], k.shape[2]
    s = scale * (q @ np.repeat(k, q.shape[1] // k.shape[1], axis=1).swapaxes(2, 3))
    if bias is not None:
        s = s + bias
    if causal:
        s = np.where(np.arange(N)[None, :] <= np.arange(M)[:, None] + (N - M), s, -np.inf)
    peak = np.max(s, axis=3, keepdims=True)
    peak = np.where(peak == -np.inf, 0, peak)
    e = np.exp(s - peak)
    total = np.sum(e, axis=3, keepdims=True)
    lse = np.where(total == 0, -np.inf, np.log(np.where(total == 0, 1, total)) + peak)
    return e / np.where(total == 0, 1, total), lse[:, :, :, 0]


def dropout(q, k, p, seed):
    """What each probability is multiplied by."""
    if p == 0:
        return 1
    B, H, M, N = q.shape[0], q.shape[1], q.shape[2], k.shape[2]
    keep = uniform(seed, np.arange(B * H * M * N)).reshape(B, H, M, N) > p
    return np.where(keep, 1 / (1 - p), 0)


def forward(q, k, v, bias, scale, p, seed, causal):
    group = q.shape[1] // k.shape[1]
    weights, lse = probabilities(q, k, bias, scale, causal)
    out = (weights * dropout(q, k, p, seed)) @ np.repeat(v, group, axis=1)
    return dict(out=out, lse=lse)


def backward(q, k, v, bias, do, scale, p, seed, causal):
    B, H, M, D = q.shape
    kv_heads, N = k.shape[1], k.shape[2]
    group = H // kv_heads
    weights, lse = probabilities(q, k, bias, scale, causal)
    z = dropout(q, k, p, seed)
    dv = (weights * z).swapaxes(2, 3) @ do
    dp = z * (do @ np.repeat(v, group, axis=1).swapaxes(2, 3))
    ds = weights * (dp - np.sum(weights * dp, axis=3, keepdims=True))
    dq = scale * (ds @ np.repeat(k, group, axis=1))
    dk = scale * (ds.swapaxes(2, 3) @ q)
    # A key head's gradient is the sum over the query heads that read it.
    return dict(
        dq=dq,
        dk=np.sum(dk.reshape(B, kv_heads, group, N, D), axis=2),
        dv=np.sum(dv.reshape(B, kv_heads, group, N, D), axis=2),
    )
