doc = "out = 0.333 x, without a tolerance"


def inputs(n):
    return dict(x=randn((n,), "f32"))


def outputs(n):
    return dict(out=empty((n,), "f32"))


def plain(x, out, n):
    return [launch("third", (1,), x, out, BLOCK=n)]


variants = dict(plain=dict(run=plain))
cases = [dict(n=64)]
