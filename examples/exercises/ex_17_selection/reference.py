import numpy as np


def reference(a, b, bias, activation):
    c = a @ b + bias
    if activation == "relu":
        c = np.maximum(c, 0)
    elif activation == "silu":
        c = c / (1 + np.exp(-c))
    elif activation == "gelu":
        c = 0.5 * c * (1 + np.tanh(np.sqrt(2 / np.pi) * (c + 0.044715 * c ** 3)))
    return dict(c=c)
