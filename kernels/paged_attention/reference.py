import numpy as np


def decode(q, k_cache, v_cache, table, lengths, scale):
    B, H, D = q.shape
    page, kv_heads = k_cache.shape[1], k_cache.shape[2]
    rows = []
    for b in range(B):
        length = int(lengths[b])
        if length == 0:
            rows.append(np.zeros((H, D)))
            continue
        pages = table[b, : (length + page - 1) // page]
        k = np.take(k_cache, pages, axis=0).reshape(-1, kv_heads, D)[:length]
        v = np.take(v_cache, pages, axis=0).reshape(-1, kv_heads, D)[:length]
        k = np.repeat(k.swapaxes(0, 1), H // kv_heads, axis=0)
        v = np.repeat(v.swapaxes(0, 1), H // kv_heads, axis=0)
        s = scale * (q[b][:, None, :] @ k.swapaxes(1, 2))
        e = np.exp(s - np.max(s, axis=2, keepdims=True))
        rows.append(((e / np.sum(e, axis=2, keepdims=True)) @ v)[:, 0, :])
    return dict(out=np.stack(rows))


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
