import numpy as np


def forward(x, w, epsilon):
    rstd = 1 / np.sqrt(np.mean(x ** 2, axis=1) + epsilon)
    return dict(y=x * rstd[:, None] * w, rstd=rstd)


def residual(x, residual, w, epsilon):
    total = x + residual
    return dict(total=total, **forward(total, w, epsilon))


def backward(x, w, dy, rstd):
    x_hat = x * rstd[:, None]
    g = w * dy
    along = np.mean(x_hat * g, axis=1, keepdims=True)
    return dict(dx=(g - x_hat * along) * rstd[:, None], dw=np.sum(dy * x_hat, axis=0))


def residual_backward(total, w, dy, dtotal, rstd):
    grads = backward(total, w, dy, rstd)
    return dict(dx=grads["dx"] + dtotal, dw=grads["dw"])
