# run: ref cpu gpu
# Rule 18: scans with a combine that does not commute, with tuples, from the end.
import triton
import triton.language as tl


# Composition of x -> a x + b: the later one is applied after the earlier one.
@triton.jit
def compose(a1, b1, a2, b2):
    return a1 * a2, b1 * a2 + b2


@triton.jit
def linear(a, b, ya, yb, N: tl.constexpr, REVERSE: tl.constexpr):
    i = tl.arange(0, N)
    ra, rb = tl.associative_scan((tl.load(a + i), tl.load(b + i)), 0, compose, reverse=REVERSE)
    tl.store(ya + i, ra)
    tl.store(yb + i, rb)

# expect: linear(a=[2, 3, 1, 2]:i32, b=[1, 2, 3, 4]:i32, ya=zeros(4,i32), yb=zeros(4,i32), N=4, REVERSE=0)
#     -> ya == [2, 6, 6, 12] and yb == [1, 5, 8, 20]
# expect: linear(a=[2, 3, 1, 2]:i32, b=[1, 2, 3, 4]:i32, ya=zeros(4,i32), yb=zeros(4,i32), N=4, REVERSE=1)
#     -> ya == [12, 6, 2, 2] and yb == [47, 23, 7, 4]


@triton.jit
def sums(x, y, N: tl.constexpr):
    i = tl.arange(0, N)
    v = tl.load(x + i)
    tl.store(y + i, tl.cumsum(v, 0))
    tl.store(y + N + i, tl.cumsum(v, 0, reverse=True))
    tl.store(y + 2 * N + i, tl.cumprod(v, 0))

# expect: sums(x=[1, 2, 3, 4]:i32, y=zeros(12,i32), N=4) -> y == [1, 3, 6, 10, 10, 9, 7, 4, 1, 2, 6, 24]


# A product in a type that holds it; without one, bytes wrap.
@triton.jit
def products(x, y, N: tl.constexpr):
    i = tl.arange(0, N)
    v = tl.load(x + i)
    tl.store(y + i, tl.cumprod(v, 0, dtype=tl.int32))
    tl.store(y + N + i, v.cumprod())

# expect: products(x=[100, 3, 2, 1]:i8, y=zeros(8,i32), N=4) -> y == [100, 300, 600, 600, 100, 44, 88, 88]


@triton.jit
def columns(x, y, M: tl.constexpr, N: tl.constexpr):
    at = tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]
    tl.store(y + at, tl.cumsum(tl.load(x + at), 0))

# expect: columns(x=iota(8,i32), y=zeros(8,i32), M=4, N=2) -> y == [0, 1, 2, 4, 6, 9, 12, 16]
