def reference(x):
    return dict(y=x * 2)
