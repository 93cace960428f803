def reference(x):
    return dict(out=x)
