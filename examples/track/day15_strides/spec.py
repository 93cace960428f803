"""Day 15: matrices and strides.

See:    element (i, j) lies at i * stride_0 + j * stride_1. A transposed view swaps two numbers and moves nothing, padded rows make one number larger, and a
        stride of 0 repeats a row. One kernel serves them all, as long as it takes strides for what they are.
Run:    nereid test day15_strides
        nereid inspect day15_strides/kernel.py:copy --target sm_90a --arg "x=empty(512x512,f32)" --arg "y=empty(512x512,f32)" --arg M=512 --arg N=512 --arg xm=1 --arg xn=512 --arg ym=512 --arg yn=1 --const BLOCK=32 --grid "(16,16)"
Change: xm and xn of `inspect` to 512 and 1. Which of the accesses is now coalesced?
"""
doc = "A copy between any two layouts of a matrix"


def inputs(M, N, x_strides):
    return dict(x=rand((M, N), "f32", strides=x_strides))


def outputs(M, N, y_strides):
    return dict(y=empty((M, N), "f32", strides=y_strides))


def copy(x, y, M, N):
    return [launch("copy", (cdiv(M, 32), cdiv(N, 32)), x, y, M, N, *x.strides, *y.strides, BLOCK=32)]


cases = [
    dict(label="row-major", M=33, N=50, x_strides=(50, 1), y_strides=(50, 1)),
    dict(label="transposed", M=33, N=50, x_strides=(1, 33), y_strides=(50, 1)),
    dict(label="padded rows", M=33, N=50, x_strides=(64, 1), y_strides=(50, 1)),
    dict(label="padded to transposed", M=33, N=50, x_strides=(64, 1), y_strides=(1, 40)),
    dict(label="one row repeated", M=33, N=50, x_strides=(0, 1), y_strides=(50, 1)),
]
variants = dict(copy=copy)
tolerance = dict(rel=0, abs=0)
