"""Day 12: numerical stability, the maximum taken off.

See:    exp(89) is beyond f32. exp(x) / sum(exp(x)) is then inf / inf = NaN; exp(x - max) / sum(exp(x - max)) is the same number, and never overflows,
        because the largest exponent is 0. The naive kernel is right for small numbers and NaN for large ones, as its formula says in f64 too.
Run:    nereid test day12_stability
        nereid run day12_stability/kernel.py:naive --arg "x=[1.0, 1000.0]:f32" --arg "out=empty(2,f32)" --arg n=2 --const BLOCK=2 --print out
Change: add a constant to every element. The safe form gives the same result: softmax does not see a shift.
"""
doc = "Softmax of a row, naive and with the maximum taken off"


def inputs(row):
    return dict(x=values(row, "f32"))


def outputs(row):
    return dict(out=empty((len(row),), "f32"))


def run(kernel, x, out):
    n = x.shape[0]
    return [launch(kernel, (1,), x, out, n, BLOCK=next_power_of_2(n))]


small = [dict(label="small", row=[0.5, -1.0, 2.0, 0.0, 3.0])]
large = [dict(label="large", row=[1000.0, 0.0, -5.0]), dict(label="all large", row=[1000.0, 1001.0, 999.0])]
# exp in f32 costs a few units, more for the rounding of x - max.
tolerance = lambda: dict(rel=32 * eps("f32"), abs=1e-38)
tasks = dict(
    safe=dict(cases=[*small, *large, dict(label="-inf", row=[-inf, 0.0, 1.0])], variants=dict(safe=lambda x, out: run("safe", x, out))),
    naive=dict(cases=[*small, *large], variants=dict(naive=lambda x, out: run("naive", x, out))),
)
