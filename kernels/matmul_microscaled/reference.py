import numpy as np


def fours(x):
    """Two numbers in each byte, low half first."""
    codes = np.stack([x % 16, x // 16], axis=2).reshape(x.shape[0], 2 * x.shape[1])
    size = codes % 8
    value = np.where(size < 2, 0.5 * size, (1 + 0.5 * (size % 2)) * np.exp2(size // 2 - 1.0))
    return np.where(codes < 8, value, -value)


def powers(scale):
    """e8m0, each for 32 elements."""
    return np.repeat(np.exp2(scale - 127.0), 32, axis=1)


def weights(a, b, b_scale):
    return dict(c=a @ (fours(b) * powers(b_scale)).T)


def mxfp8(a, a_scale, b, b_scale):
    return dict(c=(a * powers(a_scale)) @ (b * powers(b_scale)).T)


def nvfp4(a, a_scale, b, b_scale):
    return dict(c=(fours(a) * np.repeat(a_scale, 16, axis=1)) @ (fours(b) * np.repeat(b_scale, 16, axis=1)).T)
