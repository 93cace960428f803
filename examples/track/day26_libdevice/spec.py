"""Day 26: functions of libdevice.

See:    what `tl` lacks, NVIDIA's library of device functions has: `from triton.language.extra import libdevice`. The same names work on a CPU. log1p(x) is not
        log(1 + x): for x = 1e-9 the sum is 1 and its logarithm 0.
Run:    nereid test day26_libdevice
Change: `log1p` to `tl.log(1.0 + v)` in kernel.py; the case of tiny numbers fails.
"""
doc = "log1p, expm1, erf and hypot"


def inputs(n, scale):
    return dict(x=rand((n,), "f32", low=0, high=scale))


def outputs(n):
    return dict(log1p=empty((n,), "f32"), expm1=empty((n,), "f32"), erf=empty((n,), "f32"), hypot=empty((n,), "f32"))


def functions(x, log1p, expm1, erf, hypot, n):
    return [launch("functions", (cdiv(n, 256),), x, log1p, expm1, erf, hypot, n, BLOCK=256)]


cases = [dict(n=1000, scale=s) for s in (1, 10)] + [dict(label="tiny", n=100, scale=1e-8)]
variants = dict(functions=functions)
# The library's own bounds are 1 to 2 units.
tolerance = lambda: dict(rel=4 * eps("f32"), abs=1e-38)
