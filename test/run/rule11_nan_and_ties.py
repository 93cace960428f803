# run: ref cpu gpu
# Rule 11: max drops NaN unless asked, != is true for NaN, the leftmost of equal maxima wins.
import triton
import triton.language as tl


@triton.jit
def maxima(x, y, N: tl.constexpr):
    i = tl.arange(0, N)
    v = tl.load(x + i)
    tl.store(y, tl.max(v, 0))
    tl.store(y + 1, tl.min(v, 0))
    tl.store(y + 2, tl.max(tl.maximum(v, 0.5), 0))

# expect: maxima(x=[nan, 1, -2, nan]:f32, y=zeros(3,f32), N=4) -> y == [1, -2, 1]


@triton.jit
def constants(y, TYPE: tl.constexpr):
    x = tl.full([64], 1.5, TYPE)
    nan = tl.full([64], float("nan"), TYPE)
    tl.store(y, tl.max(x, 0).to(tl.float32))
    tl.store(y + 1, tl.max(tl.maximum(nan, x), 0).to(tl.float32))
    tl.store(y + 2, tl.min(tl.minimum(x, nan), 0).to(tl.float32))

# expect: constants(y=zeros(3,f32), TYPE=tl.float32) -> y == [1.5, 1.5, 1.5]
# expect: constants(y=zeros(3,f32), TYPE=tl.float16) -> y == [1.5, 1.5, 1.5]
# expect: constants(y=zeros(3,f32), TYPE=tl.bfloat16) -> y == [1.5, 1.5, 1.5]


@triton.jit
def infinities(x, y):
    v = tl.load(x)
    tl.store(y, tl.maximum(v, -float("inf")))
    tl.store(y + 1, tl.minimum(float("inf"), v))

# expect: infinities(x=[nan]:f32, y=zeros(2,f32)) -> y == [-inf, inf]
# expect: infinities(x=[2]:f32, y=zeros(2,f32)) -> y == [2, 2]


@triton.jit
def propagate(x, y):
    v = tl.load(x)
    tl.store(y, tl.maximum(v, 1.0, propagate_nan=tl.PropagateNan.ALL))
    tl.store(y + 1, tl.maximum(v, 1.0))

# expect: propagate(x=[nan]:f32, y=zeros(2,f32)) -> y == [nan, 1]


@triton.jit
def greater(a, b):
    mask = a > b
    mask |= a != a
    return tl.where(mask, a, b)


@triton.jit
def less(a, b):
    return tl.where((a != a) | (a < b), a, b)


# A source's own extrema that keep NaN, as PyTorch's compiler writes them.
@triton.jit
def written_out(x, y, N: tl.constexpr):
    v = tl.load(x + tl.arange(0, N))
    tl.store(y, tl.reduce(v, 0, greater))
    tl.store(y + 1, tl.reduce(v, 0, less))

# expect: written_out(x=[1, 5, 0, -5, 0, 7, 1, 1]:f32, y=zeros(2,f32), N=8) -> y == [7, -5]
# expect: written_out(x=[1, 5, nan, -5, 0, 7, 1, 1]:f32, y=zeros(2,f32), N=8) -> y == [nan, nan]
# expect: written_out(x=[inf, 5, -inf, 2]:f16, y=zeros(2,f16), N=4) -> y == [inf, -inf]
# expect: written_out(x=[inf, 5, 2, nan]:f16, y=zeros(2,f16), N=4) -> y == [nan, nan]
# expect: written_out(x=[3, 5, -2, 2]:bf16, y=zeros(2,bf16), N=4) -> y == [5, -2]
# expect: written_out(x=[nan, 5, -2, 2]:f64, y=zeros(2,f64), N=4) -> y == [nan, nan]
# expect: written_out(x=[1.5, 5, -2, 2]:f64, y=zeros(2,f64), N=4) -> y == [5, -2]


@triton.jit
def more(a, b):
    return tl.where(a > b, a, b)


@triton.jit
def of_integers(x, y, N: tl.constexpr):
    v = tl.load(x + tl.arange(0, N))
    tl.store(y, tl.reduce(v, 0, more))

# expect: of_integers(x=[1, -5, 0, 5]:i32, y=zeros(1,i32), N=4) -> y == [5]
# expect: of_integers(x=[1, 200, 0, 5]:u8, y=zeros(1,u8), N=4) -> y == [200]
# expect: of_integers(x=[-1, -2, -3, -5]:i64, y=zeros(1,i64), N=4) -> y == [-1]


@triton.jit
def greater_and_where(a, at_a, b, at_b):
    mask = a > b
    equal = a == b
    a_is_nan = a != a
    b_is_nan = b != b
    mask |= a_is_nan & (not b_is_nan)
    equal |= a_is_nan & b_is_nan
    mask |= equal & (at_a < at_b)
    return tl.where(mask, a, b), tl.where(mask, at_a, at_b)


# Of rows long enough that lanes meet in any order: NaN is the greatest here, and the first of them, or none for `tl`.
@triton.jit
def places(x, y, at, N: tl.constexpr, K: tl.constexpr, FIRST: tl.constexpr):
    i = tl.arange(0, N)
    v = tl.load(x + i * 0 + i % K)
    v = tl.where(i % 64 < 32, v, v - v)
    best, place = tl.reduce((v, i), 0, greater_and_where)
    tl.store(y, best)
    tl.store(at, place)
    tl.store(at + 1, tl.argmax(v, 0, tie_break_left=FIRST))
    tl.store(at + 2, tl.argmin(v, 0, tie_break_left=FIRST))

# expect: places(x=[1, -5, 7, 2, 7, 3, 7, -5]:f32, y=zeros(1,f32), at=zeros(3,i32), N=256, K=8, FIRST=True) -> y == [7] and at == [2, 2, 1]
# expect: places(x=[1, -5, 7, 2, 7, 3, 7, -5]:f32, y=zeros(1,f32), at=zeros(3,i32), N=512, K=8, FIRST=False) -> y == [7] and at == [2, 478, 479]
# expect: places(x=[1, nan, 7, 2, nan, 3, 7, -5]:f32, y=zeros(1,f32), at=zeros(3,i32), N=256, K=8, FIRST=True) -> y == [nan] and at == [1, 2, 7]
# expect: places(x=[1, nan, 7, 2, nan, 3, 7, -5]:f32, y=zeros(1,f32), at=zeros(3,i32), N=256, K=8, FIRST=False) -> y == [nan] and at == [1, 222, 223]
# expect: places(x=[nan, nan]:f32, y=zeros(1,f32), at=zeros(3,i32), N=256, K=2, FIRST=True) -> y == [nan] and at == [0, 0, 0]
# expect: places(x=[nan, nan]:f32, y=zeros(1,f32), at=zeros(3,i32), N=256, K=2, FIRST=False) -> y == [nan] and at == [0, 0, 0]
# expect: places(x=[1, -5, 7, 2]:i32, y=zeros(1,i32), at=zeros(3,i32), N=256, K=4, FIRST=True) -> y == [7] and at == [2, 2, 1]
# expect: places(x=[1, -5, 7, nan]:f16, y=zeros(1,f16), at=zeros(3,i32), N=128, K=4, FIRST=True) -> y == [nan] and at == [3, 2, 1]


@triton.jit
def unordered(x, y):
    v = tl.load(x)
    tl.store(y, v != v)
    tl.store(y + 1, v == v)
    tl.store(y + 2, v < v)
    tl.store(y + 3, (v < 1.0) | (v >= 1.0))

# expect: unordered(x=[nan]:f32, y=zeros(4,i32)) -> y == [1, 0, 0, 0]


@triton.jit
def ties(x, y, N: tl.constexpr):
    v = tl.load(x + tl.arange(0, N))
    tl.store(y, tl.argmax(v, 0))
    tl.store(y + 1, tl.argmin(v, 0))

# expect: ties(x=[1, 5, 0, 5, 0, 5, 1, 1]:f32, y=zeros(2,i32), N=8) -> y == [1, 2]
# expect: ties(x=[nan, 6, 8, inf]:f32, y=zeros(2,i32), N=4) -> y == [3, 1]
# expect: ties(x=[3, 5, nan, -inf, nan, nan, 5, 4]:f32, y=zeros(2,i32), N=8) -> y == [1, 3]
# expect: ties(x=[3, nan, 1, nan]:f16, y=zeros(2,i32), N=4) -> y == [0, 2]
# expect: ties(x=[3, 3, 3, 3, 3, 3, 3, 3]:i32, y=zeros(2,i32), N=8) -> y == [0, 0]


@triton.jit
def narrow(x, by, y, N: tl.constexpr):
    i = tl.arange(0, N)
    a = tl.load(x + i)
    b = tl.load(by + i)
    tl.store(y + i, tl.maximum(a, b, propagate_nan=tl.PropagateNan.ALL))
    tl.store(y + N + i, tl.minimum(a, b, propagate_nan=tl.PropagateNan.ALL))

# expect: narrow(x=[0, nan, -0.0, nan]:f16, by=[nan, 0, nan, -0.0]:f16, y=zeros(8,f16), N=4) -> y == [nan] * 8
# expect: narrow(x=[0, nan, -0.0, nan]:bf16, by=[nan, 0, nan, -0.0]:bf16, y=zeros(8,bf16), N=4) -> y == [nan] * 8
# expect: narrow(x=[1, -3, inf, 0.5]:f16, by=[2, -4, 7, -inf]:f16, y=zeros(8,f16), N=4) -> y == [2, -3, inf, 0.5, 1, -4, 7, -inf]
