import numpy as np


def choices(logits, K):
    """The experts of each token, best first, the lower one first where two are equal: [T, K]."""
    T, E = logits.shape
    chosen = []
    left = logits
    for i in range(K):
        best = np.argmax(left, axis=1)
        chosen = chosen + [best]
        left = np.where(np.arange(E)[None, :] == best[:, None], -np.inf, left)
    return np.stack(chosen, axis=1)


def picked(rows, expert):
    """rows[t, expert[t, i]]."""
    T, E = rows.shape
    return np.take(rows.reshape(T * E), (np.arange(T)[:, None] * E + expert).reshape(-1), axis=0).reshape(T, expert.shape[1])


def weights_of(logits, K, renormalise):
    expert = choices(logits, K)
    e = np.exp(logits - np.max(logits, axis=1, keepdims=True))
    mine = picked(e, expert)
    return mine / (np.sum(mine, axis=1, keepdims=True) if renormalise else np.sum(e, axis=1, keepdims=True)), expert


def route(logits, K, renormalise):
    weight, expert = weights_of(logits, K, renormalise)
    return dict(weight=weight, expert=expert)


def order(expert, E):
    flat = expert.reshape(-1)
    N = flat.shape[0]
    before = (flat[None, :] < flat[:, None]) | ((flat[None, :] == flat[:, None]) & (np.arange(N)[None, :] < np.arange(N)[:, None]))
    row = np.sum(before.astype(np.int64), axis=1)
    source = np.sum(np.where(row[:, None] == np.arange(N)[None, :], np.arange(N)[:, None], 0), axis=0)
    sizes = np.sum((flat[None, :] == np.arange(E)[:, None]).astype(np.int64), axis=1)
    return dict(row=row.reshape(expert.shape[0], -1), source=source, offsets=np.concatenate([np.zeros(1).astype(np.int64), np.cumsum(sizes, axis=0)]))


def permute(x, source, K):
    return dict(y=np.take(x, source // K, axis=0))


def combine(y, row, weight):
    T, K = row.shape
    parts = np.take(y, row.reshape(-1), axis=0).reshape(T, K, -1)
    return dict(out=np.sum(parts if weight is None else parts * weight[:, :, None], axis=1))


def combine_backward(dout, y, source, row, weight):
    T, K = row.shape
    N = source.shape[0]
    dout_rows = np.take(dout, source // K, axis=0)
    weights = np.take(weight.reshape(N), source, axis=0)
    return dict(dy=weights[:, None] * dout_rows, dweight=np.take(np.sum(dout_rows * y, axis=1), row.reshape(-1), axis=0).reshape(T, K))


def layer(x, logits, gate_up, down, K, renormalise):
    """Every expert on every token, of which the chosen count."""
    weight, expert = weights_of(logits, K, renormalise)
    N = down.shape[1]
    out = np.zeros_like(x)
    for e in range(gate_up.shape[0]):
        both = x @ gate_up[e]
        g = both[:, :N]
        y = (g * 0.5 * (1 + np.tanh(0.5 * g)) * both[:, N:]) @ down[e]
        share = np.sum(np.where(expert == e, weight, 0), axis=1)
        out = out + share[:, None] * y
    return dict(out=out)
