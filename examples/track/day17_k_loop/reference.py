def sums_f32(a, b):
    return dict(c=a @ b)


def sums_f16(a, b):
    return dict(c=a @ b)
