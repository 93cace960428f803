"""Day 22: layer norm, mean and variance.

See:    mean(x^2) - mean(x)^2 needs one pass and loses everything when the mean is far from 0: two large numbers cancel. The mean of (x - mean)^2 does not. Compare
        `max error` of the two tasks for a mean of 100.
Run:    nereid test day22_moments
        nereid test ../../kernels/layer_norm --variant forward.welford --device cpu
Change: the mean to 1000. Then read layer_norm_welford in kernels/layer_norm/kernel.py, which has one pass and no cancellation.
"""
doc = "Variance of rows, by two formulas that are equal on paper"


def inputs(M, N, mean):
    return dict(x=randn((M, N), "f32", mean=mean))


def outputs(M):
    return dict(variance=empty((M,), "f32"))


def run(kernel, x, variance, M, N):
    return [launch(kernel, (M,), x, variance, N, BLOCK=next_power_of_2(N))]


cases = [dict(M=5, N=n, mean=mean) for n in (100, 1000) for mean in (0, 100)]
tasks = dict(
    # The mean, of size `mean`, is off by a few units; what it is off by is squared.
    deviations=dict(variants=dict(two_passes=lambda x, variance, M, N: run("deviations", x, variance, M, N)),
                    tolerance=lambda N, mean: dict(rel=(8 + log2(N)) * eps("f32") * (1 + mean / 10), abs=0)),
    # Two numbers of size mean^2 + 1 are subtracted, each off by some units of itself.
    squares=dict(variants=dict(one_pass=lambda x, variance, M, N: run("squares", x, variance, M, N)),
                 tolerance=lambda N, mean: dict(rel=0, abs=(8 + log2(N)) * eps("f32") * (1 + mean * mean))),
)
