def reference(x, y):
    return dict(out=x + y)
