import numpy as np


def forward(x):
    return dict(y=x ** 3)


def right(x, dy):
    return dict(dx=3 * x ** 2 * dy)


# As wrong as its kernel.
def wrong(x, dy):
    return dict(dx=2 * x ** 2 * dy)
