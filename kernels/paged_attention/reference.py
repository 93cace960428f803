import numpy as np


def attend(q, k_cache, v_cache, pages, length, scale):
    """One sequence: q is [H, D], `pages` the pages that hold its `length` tokens."""
    H, D = q.shape
    kv_heads = k_cache.shape[2]
    if length == 0:
        return np.zeros((H, D))
    k = np.take(k_cache, pages, axis=0).reshape(-1, kv_heads, D)[:length]
    v = np.take(v_cache, pages, axis=0).reshape(-1, kv_heads, D)[:length]
    k = np.repeat(k.swapaxes(0, 1), H // kv_heads, axis=0)
    v = np.repeat(v.swapaxes(0, 1), H // kv_heads, axis=0)
    s = scale * (q[:, None, :] @ k.swapaxes(1, 2))
    e = np.exp(s - np.max(s, axis=2, keepdims=True))
    return ((e / np.sum(e, axis=2, keepdims=True)) @ v)[:, 0, :]


def whole(cache, scale):
    """The cache as numbers: each token's head times its scale."""
    return cache if scale is None else cache * scale[:, :, :, None]


def decode(q, k_cache, v_cache, k_scale, v_scale, table, lengths, scale):
    page = k_cache.shape[1]
    k, v = whole(k_cache, k_scale), whole(v_cache, v_scale)
    return dict(out=np.stack([
        attend(q[b], k, v, table[b, : (int(lengths[b]) + page - 1) // page], int(lengths[b]), scale) for b in range(q.shape[0])
    ]))


def prefill(q, k_cache, v_cache, k_scale, v_scale, table, cu_q, lengths, scale):
    page = k_cache.shape[1]
    k, v = whole(k_cache, k_scale), whole(v_cache, v_scale)
    rows = []
    for b in range(lengths.shape[0]):
        first, end = int(cu_q[b]), int(cu_q[b + 1])
        for i in range(first, end):
            # The last query stands on the last token.
            seen = int(lengths[b]) - (end - 1 - i)
            rows = rows + [attend(q[i], k, v, table[b, : (seen + page - 1) // page], seen, scale)]
    return dict(out=np.stack(rows))


def shared_prefix(q, k_cache, v_cache, k_scale, v_scale, prefix_pages, table, lengths, scale, prefix):
    page = k_cache.shape[1]
    k, v = whole(k_cache, k_scale), whole(v_cache, v_scale)
    return dict(out=np.stack([
        attend(q[b], k, v, np.concatenate([prefix_pages, table[b, : (int(lengths[b]) + page - 1) // page]]),
               prefix + int(lengths[b]), scale)
        for b in range(q.shape[0])
    ]))


def store(k, v, slots):
    # What 8 bits keep of a row is the row itself, within the tolerance; a token of no slot is nowhere.
    here = (slots >= 0)[:, None, None]
    return dict(k_kept=np.where(here, k, 0), v_kept=np.where(here, v, 0))


def append(k, v, table, lengths, pages, PAGE):
    # Places that are not written keep the poison of the output, NaN.
    k_cache = np.full((pages, PAGE, k.shape[1], k.shape[2]), np.nan)
    v_cache = k_cache
    for b in range(k.shape[0]):
        last = int(lengths[b]) - 1
        page = table[b, last // PAGE]
        here = (np.arange(pages)[:, None] == page) & (np.arange(PAGE)[None, :] == last % PAGE)
        k_cache = np.where(here[:, :, None, None], k[b], k_cache)
        v_cache = np.where(here[:, :, None, None], v[b], v_cache)
    return dict(k_cache=k_cache, v_cache=v_cache)
