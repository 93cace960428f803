import numpy as np


def log_sum_exp(x):
    peak = np.max(x, axis=1, keepdims=True)
    peak = np.where(peak == -np.inf, 0, peak)
    return np.log(np.sum(np.exp(x - peak), axis=1)) + peak[:, 0]


def distribution(target, N, smoothing):
    """What the target asks of each class; an ignored row asks 0 of all but is left out anyway."""
    return np.where(np.arange(N)[None, :] == target[:, None], 1 - smoothing + smoothing / N, smoothing / N)


def loss_and_lse(x, target, ignore_index, smoothing):
    M, N = x.shape
    lse = log_sum_exp(x)
    at = np.where((target >= 0) & (target < N), target, 0)
    picked = np.take(x.reshape(M * N), np.arange(M) * N + at, axis=0)
    loss = (1 - smoothing) * (lse - picked)
    if smoothing > 0:
        loss = loss + smoothing * (lse - np.mean(x, axis=1))
    loss = np.where((target >= 0) & (target < N), loss, np.nan)
    return np.where(target == ignore_index, 0, loss), np.where(target == ignore_index, 0, lse)


def logit_gradient(x, target, ignore_index, smoothing):
    N = x.shape[1]
    dx = np.exp(x - log_sum_exp(x)[:, None]) - distribution(target, N, smoothing)
    dx = np.where(((target >= 0) & (target < N))[:, None], dx, np.nan)
    return np.where((target == ignore_index)[:, None], 0, dx)


def forward(x, target, ignore_index, smoothing):
    loss, lse = loss_and_lse(x, target, ignore_index, smoothing)
    return dict(loss=loss, lse=lse)


def backward(x, target, dloss, ignore_index, smoothing):
    return dict(dx=dloss[:, None] * logit_gradient(x, target, ignore_index, smoothing))


def loss_and_gradient(x, target, scale, ignore_index, smoothing):
    return dict(loss=loss_and_lse(x, target, ignore_index, smoothing)[0], dx=scale * logit_gradient(x, target, ignore_index, smoothing))


def linear(x, w, target, scale, ignore_index, smoothing):
    logits = x @ w.T
    g = scale * logit_gradient(logits, target, ignore_index, smoothing)
    return dict(loss=loss_and_lse(logits, target, ignore_index, smoothing)[0], dx=g @ w, dw=g.T @ x)


def linear_loss(x, w, target, ignore_index):
    return dict(loss=loss_and_lse(x @ w.T, target, ignore_index, 0)[0])
