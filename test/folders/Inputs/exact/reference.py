def reference(x):
    return dict(out=x * 0.333)
