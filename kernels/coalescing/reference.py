def copy(x):
    return dict(y=x)


def transpose(x):
    return dict(y=x.T)
