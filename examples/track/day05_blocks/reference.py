def reference(x):
    return dict(out=1 + x + x ** 2 / 2 + x ** 3 / 6 + x ** 4 / 24)
