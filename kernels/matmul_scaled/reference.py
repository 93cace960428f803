import numpy as np


def rows(a, b, a_scale, b_scale, bias, c_scale):
    """Scales of one element each, or one a row. They are no part of the sum, so that one of infinity makes no NaN in it."""
    c = (a @ b.T) * a_scale[:, None] * b_scale[None, :]
    if bias is not None:
        c = c + bias
    return dict(c=c if c_scale is None else c / c_scale[0])


def blocks(a, b, a_scale, b_scale):
    M, K = a.shape
    N = b.shape[0]
    a_scales = np.repeat(a_scale.T, 128, axis=1)[:, :K]
    b_scales = np.repeat(np.repeat(b_scale, 128, axis=0), 128, axis=1)[:N, :K]
    return dict(c=(a * a_scales) @ (b * b_scales).T)


def quantise_rows(x, largest):
    # What 8 bits keep of x is x itself, within the tolerance.
    return dict(scale=np.max(np.abs(x), axis=1) / largest, restored=x)


def quantise_blocks(x, largest, whole):
    M, N = x.shape
    high, wide = (M + 127) // 128, (N + 127) // 128
    padded = np.concatenate([np.abs(x), np.zeros((M, wide * 128 - N))], axis=1)
    padded = np.concatenate([padded, np.zeros((high * 128 - M, wide * 128))], axis=0)
    peaks = np.max(padded.reshape(high * 128, wide, 128), axis=2)
    if whole:
        return dict(scale=np.max(peaks.reshape(high, 128, wide), axis=1) / largest, restored=x)
    return dict(scale=peaks[:M].T / largest, restored=x)
