"""Day 1: hello, kernel.

See:    one kernel, started four times. Each of the four programs finds out which one it is.
Run:    nereid run day01_hello/kernel.py:hello --grid "(4,)" --arg "out=zeros(4,i32)" --print out
        nereid test day01_hello
Change: the grid to eight programs, and `out` with it. Then eight programs with an `out` of four, under `nereid check`.
"""
doc = "One kernel, several programs"
cases = [dict(programs=p) for p in (1, 4, 100)]


def inputs():
    return dict()


def outputs(programs):
    return dict(out=empty((programs,), "i32"))


def hello(out, programs):
    return [launch("hello", (programs,), out)]


variants = dict(hello=hello)
tolerance = dict(rel=0, abs=0)
