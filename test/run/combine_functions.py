# run: ref cpu gpu
# Functions of the language's own reductions, passed to `tl.reduce` and `tl.associative_scan` by name. Of equal values the `left` ones take the lower
# index whatever the order of the values is.
import triton
import triton.language as tl
from triton.language.standard import _sum_combine


@triton.jit
def greatest(x, places, value, left, right, N: tl.constexpr):
    v = tl.load(x + tl.arange(0, N))
    i = tl.load(places + tl.arange(0, N))
    m, a = tl.reduce((v, i), 0, tl.standard._argmax_combine_tie_break_left)
    _, b = tl.reduce((v, N - 1 - i), 0, tl.standard._argmax_combine_tie_break_left)
    tl.store(value, m)
    tl.store(left, a)
    tl.store(right, N - 1 - b)


@triton.jit
def least(x, places, value, left, right, N: tl.constexpr):
    v = tl.load(x + tl.arange(0, N))
    i = tl.load(places + tl.arange(0, N))
    m, a = tl.reduce((v, i), 0, tl.standard._argmin_combine_tie_break_left)
    _, b = tl.reduce((v, N - 1 - i), 0, tl.standard._argmin_combine_tie_break_left)
    tl.store(value, m)
    tl.store(left, a)
    tl.store(right, N - 1 - b)


@triton.jit
def only(x, greatest, least, N: tl.constexpr):
    i = tl.arange(0, N)
    v = tl.load(x + i)
    _, a = tl.reduce((v, i), 0, tl.standard._argmax_combine_tie_break_fast)
    _, b = tl.reduce((v, i), 0, tl.standard._argmin_combine_tie_break_fast)
    tl.store(greatest, a)
    tl.store(least, b)


@triton.jit
def pairs(x, y, values, places, N: tl.constexpr):
    i = tl.arange(0, N)
    v = tl.load(x + i)
    w = tl.load(y + i)
    a, b = tl.standard._argmax_combine(v, i, w, i + N, True)
    c, d = tl.standard._argmin_combine(v, i, w, i + N, False)
    tl.store(values + i, a)
    tl.store(places + i, b)
    tl.store(values + N + i, c)
    tl.store(places + N + i, d)


@triton.jit
def folds(x, sums, others, N: tl.constexpr):
    i = tl.arange(0, N)
    v = tl.load(x + i)
    tl.store(sums + i, tl.associative_scan(v, 0, _sum_combine))
    tl.store(others, tl.reduce(v, 0, tl.standard._prod_combine))
    tl.store(others + 5, tl.reduce(v, 0, tl.standard._sum_combine))
    tl.store(others + 1, tl.reduce(v, 0, tl.standard._xor_combine))
    tl.store(others + 2, tl.reduce(v, 0, tl.standard._or_combine))
    tl.store(others + 3, tl.reduce(v, 0, tl.standard._elementwise_max))
    tl.store(others + 4, tl.reduce(v, 0, tl.standard._elementwise_min))

# expect: greatest(x=[1.0, 7.0, 7.0, 3.0]:f32, places=[0, 2, 1, 3]:i32, N=4) -> value:f32 == [7] and left:i32 == [1] and right:i32 == [2]
# expect: least(x=[1.0, 7.0, 1.0, 1.0]:f32, places=[3, 2, 1, 0]:i32, N=4) -> value:f32 == [1] and left:i32 == [0] and right:i32 == [3]
# expect: only(x=[1.0, 9.0, 0.5, 3.0]:f32, N=4) -> greatest:i32 == [1] and least:i32 == [2]
# expect: pairs(x=[1, 5]:i32, y=[1, 4]:i32, N=2) -> values:i32 == [1, 5, 1, 4] and places:i32 == [0, 1, 2, 3]
# expect: folds(x=[1, 2, 7, 16]:i32, N=4) -> sums:i32 == [1, 3, 10, 26] and others:i32 == [224, 20, 23, 16, 1, 26]
