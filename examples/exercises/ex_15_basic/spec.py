"""Exercise 15: a basic kernel, and its host.

See:    a kernel of one line, y = a x + y, fused and as two launches. The C++ program queues it on streams: a launch returns before the work is done, so a clock
        that does not wait measures the queue; an event makes one stream wait for another.
Run:    nereid test ex_15_basic
        nereid bench ex_15_basic --match small
        (C++) streams                          ../exercises/CMakeLists.txt builds it
Change: leave `second.wait(ready)` out of streams.cpp. On a GPU the result is now wrong sometimes, which is the worst kind of wrong.
"""
doc = "y = a x + y in one launch and in two"


def inputs(n):
    return dict(x=randn((n,), "f32"), y=randn((n,), "f32"), a=0.75)


def outputs(n):
    return dict(out=empty((n,), "f32"))


def fused(x, y, out, a, n):
    return [launch("axpy", (cdiv(n, 1024),), x, y, out, a, n, BLOCK=1024)]


def unfused(x, y, out, a, n):
    scaled = empty((n,), "f32")
    return [launch("scale", (cdiv(n, 1024),), x, scaled, a, n, BLOCK=1024), launch("axpy", (cdiv(n, 1024),), scaled, y, out, 1.0, n, BLOCK=1024)]


cases = [dict(n=n) for n in (1, 1000, 4097)]
bench = [dict(label="small", n=1 << 22), dict(label="large", n=1 << 28)]
variants = dict(fused=fused, unfused=unfused)
tolerance = lambda: dict(rel=eps("f32"), abs=2 * eps("f32"))
flops = lambda n: 2 * n
