def reference(x, y, a):
    return dict(out=a * x + y)
