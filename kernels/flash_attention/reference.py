import numpy as np
from nereid.reference import uniform


def probabilities(q, k, bias, slopes, scale, causal, window, soft_cap):
    """P, the logarithm of each row's sum of exponentials, and what a soft cap makes of a score's change.

    A row that sees no key is 0 and -inf.
    """
    M, N = q.shape[2], k.shape[2]
    if N == 0:
        nothing = np.zeros((q.shape[0], q.shape[1], M, 0))
        return nothing, np.full((q.shape[0], q.shape[1], M), -np.inf), nothing
    s = scale * (q @ np.repeat(k, q.shape[1] // k.shape[1], axis=1).swapaxes(2, 3))
    steep = np.ones_like(s)
    if soft_cap > 0:
        t = np.tanh(s / soft_cap)
        s = soft_cap * t
        steep = 1 - t ** 2
    away = np.arange(M)[:, None] + (N - M) - np.arange(N)[None, :]
    if slopes is not None:
        s = s - slopes[:, None, None] * np.abs(away)
    if bias is not None:
        s = s + bias
    if causal:
        s = np.where(away >= 0, s, -np.inf)
    if window > 0:
        s = np.where(np.abs(away) < window, s, -np.inf)
    peak = np.max(s, axis=3, keepdims=True)
    peak = np.where(peak == -np.inf, 0, peak)
    e = np.exp(s - peak)
    total = np.sum(e, axis=3, keepdims=True)
    lse = np.where(total == 0, -np.inf, np.log(np.where(total == 0, 1, total)) + peak)
    return e / np.where(total == 0, 1, total), lse[:, :, :, 0], steep


def dropout(q, k, p, seed):
    """What each probability is multiplied by."""
    if p == 0:
        return 1
    B, H, M, N = q.shape[0], q.shape[1], q.shape[2], k.shape[2]
    keep = uniform(seed, np.arange(B * H * M * N)).reshape(B, H, M, N) > p
    return np.where(keep, 1 / (1 - p), 0)


def forward(q, k, v, bias, slopes, descale, scale, p, seed, causal, window, soft_cap):
    group = q.shape[1] // k.shape[1]
    if descale is not None:
        q = q * np.repeat(descale[:, :, 0], group, axis=1)[:, :, None, None]
        k = k * descale[:, :, 1][:, :, None, None]
        v = v * descale[:, :, 2][:, :, None, None]
    weights, lse, steep = probabilities(q, k, bias, slopes, scale, causal, window, soft_cap)
    out = (weights * dropout(q, k, p, seed)) @ np.repeat(v, group, axis=1)
    return dict(out=out, lse=lse)


def backward(q, k, v, bias, slopes, do, scale, p, seed, causal, window, soft_cap):
    B, H, M, D = q.shape
    kv_heads, N = k.shape[1], k.shape[2]
    group = H // kv_heads
    weights, lse, steep = probabilities(q, k, bias, slopes, scale, causal, window, soft_cap)
    z = dropout(q, k, p, seed)
    dv = (weights * z).swapaxes(2, 3) @ do
    dp = z * (do @ np.repeat(v, group, axis=1).swapaxes(2, 3))
    ds = weights * (dp - np.sum(weights * dp, axis=3, keepdims=True)) * steep
    dq = scale * (ds @ np.repeat(k, group, axis=1))
    dk = scale * (ds.swapaxes(2, 3) @ q)
    # A key head's gradient is the sum over the query heads that read it.
    return dict(
        dq=dq,
        dk=np.sum(dk.reshape(B, kv_heads, group, N, D), axis=2),
        dv=np.sum(dv.reshape(B, kv_heads, group, N, D), axis=2),
    )


def one_sequence(x, cu, b):
    """[token, head, D] of one sequence as [1, head, token, D]."""
    return x[int(cu[b]) : int(cu[b + 1])].swapaxes(0, 1)[None]


def lengths(q, k, v, cu_q, cu_k, scale, causal, window):
    outs, lses = [], []
    for b in range(cu_q.shape[0] - 1):
        part = forward(one_sequence(q, cu_q, b), one_sequence(k, cu_k, b), one_sequence(v, cu_k, b), None, None, None, scale, 0, 0, causal, window, 0)
        outs = outs + [part["out"][0].swapaxes(0, 1)]
        lses = lses + [part["lse"][0].T]
    return dict(out=np.concatenate(outs, axis=0), lse=np.concatenate(lses, axis=0))


def lengths_backward(q, k, v, do, cu_q, cu_k, scale, causal, window):
    parts = [
        backward(one_sequence(q, cu_q, b), one_sequence(k, cu_k, b), one_sequence(v, cu_k, b), None, None, one_sequence(do, cu_q, b),
                 scale, 0, 0, causal, window, 0)
        for b in range(cu_q.shape[0] - 1)
    ]
    return dict(
        dq=np.concatenate([part["dq"][0].swapaxes(0, 1) for part in parts], axis=0),
        dk=np.concatenate([part["dk"][0].swapaxes(0, 1) for part in parts], axis=0),
        dv=np.concatenate([part["dv"][0].swapaxes(0, 1) for part in parts], axis=0),
    )
