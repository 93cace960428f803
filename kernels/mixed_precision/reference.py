import numpy as np


def unscale(grad, scale):
    finite = np.all(np.abs(grad) < np.inf)
    return dict(out=grad / scale[0], overflow=np.where(finite, 0.0, 1.0).reshape(1))


def update_scale(scale_in, steps_in, overflow_in, growth, backoff, interval):
    overflow = overflow_in[0] != 0
    grown = steps_in[0] + 1 >= interval
    # What a scale in f32 would grow to: past its largest number it stays.
    larger = np.where(scale_in * growth < 3.5e38, scale_in * growth, scale_in)
    scale = scale_in * backoff if overflow else np.where(grown, larger, scale_in)
    return dict(scale=scale, steps=np.where(overflow or grown, 0, steps_in + 1), overflow=np.zeros(1))


def cast(x, scale, largest):
    amax = np.max(np.where(np.isnan(x), 0, np.abs(x))) if x.size > 0 else np.zeros(1)
    return dict(q=np.minimum(np.maximum(x * scale[0], -largest), largest), amax=np.zeros(1) + amax)


def fp8_scales(history_in, amax_in, scale_in, largest, margin):
    history = np.concatenate([amax_in[:, None], history_in[:, :-1]], axis=1)
    peak = np.max(np.where(np.isnan(history), 0, history), axis=1)
    usable = (peak > 0) & (peak < np.inf) & ~np.isnan(amax_in)
    scale = np.where(usable, largest / np.where(usable, peak, 1) * 2.0 ** -margin, scale_in)
    return dict(history=history, scale=scale, inverse=1 / scale)
