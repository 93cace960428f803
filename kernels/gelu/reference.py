import numpy as np
from nereid.reference import erf


def tanh(x):
    u = np.sqrt(2 / np.pi) * (x + 0.044715 * x ** 3)
    return dict(y=0.5 * x * (1 + np.tanh(u)))


def exact(x):
    return dict(y=0.5 * x * (1 + erf(x / np.sqrt(2))))


def tanh_backward(x, dy):
    t = np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x ** 3))
    slope = np.sqrt(2 / np.pi) * (1 + 3 * 0.044715 * x ** 2)
    return dict(dx=dy * (0.5 * (1 + t) + 0.5 * x * (1 - t ** 2) * slope))


def exact_backward(x, dy):
    density = np.exp(-0.5 * x ** 2) / np.sqrt(2 * np.pi)
    return dict(dx=dy * (0.5 * (1 + erf(x / np.sqrt(2))) + x * density))
