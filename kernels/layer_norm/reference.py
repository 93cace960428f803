import numpy as np


def forward(x, w, b, epsilon):
    mean = np.mean(x, axis=1)
    centred = x - mean[:, None]
    rstd = 1 / np.sqrt(np.mean(centred ** 2, axis=1) + epsilon)
    return dict(y=centred * rstd[:, None] * w + b, mean=mean, rstd=rstd)


def backward(x, w, dy, mean, rstd):
    x_hat = (x - mean[:, None]) * rstd[:, None]
    g = w * dy
    along = np.mean(x_hat * g, axis=1, keepdims=True)
    level = np.mean(g, axis=1, keepdims=True)
    return dict(
        dx=(g - x_hat * along - level) * rstd[:, None],
        dw=np.sum(dy * x_hat, axis=0),
        db=np.sum(dy, axis=0),
    )
