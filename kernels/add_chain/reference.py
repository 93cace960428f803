def reference(a, b, c, d):
    return dict(out=a + b + c + d)
