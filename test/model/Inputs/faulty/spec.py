doc = "y = 2 x, by a kernel with a fault"


def inputs(n):
    return dict(x=randn((n,), "f32"))


def outputs(n):
    return dict(y=empty((n,), "f32"))


def plain(x, y, n, BLOCK):
    return [launch("scale", (cdiv(n, BLOCK),), x, y, n, BLOCK=BLOCK)]


variants = dict(plain=dict(run=plain, configs=[dict(BLOCK=b) for b in (32, 64, 128)]))
cases = [dict(n=1000)]
flops = lambda n: n
