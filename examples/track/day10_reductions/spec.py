"""Day 10: reductions.

See:    `tl.sum` adds the lanes of one program as a tree. Sums that cross programs need memory: partial sums and a second launch (the same bits each
        time), or atomics (one launch, in an order that timing decides).
Run:    nereid test day10_reductions
        nereid bench day10_reductions --match small
Change: the maximum rather than the sum. What is `other` then?
"""
doc = "The sum of a vector in three ways"


def inputs(n):
    return dict(x=randn((n,), "f32"))


def outputs():
    return dict(total=zeros((1,), "f32"))


def one_program(x, total, n):
    return [launch("sum_loop", (1,), x, total, n, n, BLOCK=1024)]


def two_launches(x, total, n):
    parts = min(256, cdiv(n, 1024))
    share = cdiv(cdiv(n, parts), 1024) * 1024
    partial = empty((parts,), "f32")
    return [
        launch("sum_loop", (parts,), x, partial, n, share, BLOCK=1024),
        launch("sum_loop", (1,), partial, total, parts, parts, BLOCK=256),
    ]


def atomics(x, total, n):
    return [launch("clear", (1,), total), launch("sum_atomic", (cdiv(n, 1024),), x, total, n, BLOCK=1024)]


cases = [dict(n=n) for n in (1, 1000, 1024, 50000)]
bench = [dict(label="small", n=1 << 22), dict(label="large", n=1 << 28)]
variants = dict(two_launches=two_launches, one_program=one_program, atomics=atomics)
# Partial sums grow to sqrt(n); each of log2(n) levels of a tree, or n / 1024 steps of a loop, rounds once.
tolerance = lambda n: dict(rel=0, abs=(4 + sqrt(n)) * (log2(n + 1) + n / 1024) * eps("f32"))
flops = lambda n: n
