# run: ref cpu gpu
# Less common Python in kernels: nested and named tuples, early returns in helpers, carried tuples, starred and keyword-only arguments,
# functions as arguments, compile-time functions, dtype arithmetic. The values are those of Triton's interpreter where it runs them.
import triton
import triton.language as tl
from typing import NamedTuple

class Pair(NamedTuple):
    a: tl.tensor
    b: tl.tensor

@triton.jit
def swap(p):
    return p[1], p[0]

@triton.jit
def find(x, p, n):
    if n < 0:
        return x * 0 - 1
    s = x
    for i in range(0, n):
        s += tl.load(p + i)
    return s

@triton.jit
def early(x, lim):
    if x > lim:
        return x - lim
    return x + lim

@triton.jit
def call_kw(x, *, scale=2, shift: tl.constexpr = 1):
    return x * scale + shift

@triton.jit
def apply(f: tl.constexpr, x, y):
    return f(x, y)

@triton.jit
def add(a, b):
    return a + b

@triton.constexpr_function
def log2(n):
    return n.bit_length() - 1

@triton.jit
def k_nested(out, x, n):
    t = ((tl.load(x), tl.load(x + 1)), (tl.load(x + 2), (tl.load(x + 3), 5)))
    (a, b), (c, (d, e)) = t
    tl.store(out, a + 10 * b)
    tl.store(out + 1, c - d + e)
    u, v = swap((a, b))
    tl.store(out + 2, u - v)

@triton.jit
def k_static(out, x, n):
    acc = 0
    offs = (0, 2, 3)
    for i in tl.static_range(len(offs)):
        acc += tl.load(x + offs[i])
    tl.store(out, acc)
    for i in tl.static_range(6, 0, -2):
        acc = acc * i
    tl.store(out + 1, acc)

@triton.jit
def k_early(out, x, n):
    s = 0
    for i in range(0, n):
        s += early(tl.load(x + i), 2)
    tl.store(out, s)
    tl.store(out + 1, find(1, x, n))
    tl.store(out + 2, find(1, x, -1))

@triton.jit
def k_while(out, x, n):
    a, b = 0, 1
    i = 0
    while (a < 50) & (i < n):
        a, b = b, a + b
        i += 1
    tl.store(out, a)
    tl.store(out + 1, b)
    tl.store(out + 2, i)

@triton.jit
def k_calls(out, x, n):
    v = tl.load(x + 1)
    tl.store(out, call_kw(v))
    tl.store(out + 1, call_kw(v, scale=n, shift=7))
    tl.store(out + 2, apply(add, v, n))
    args = (v, n)
    tl.store(out + 3, add(*args))
    B: tl.constexpr = log2(64)
    tl.store(out + 4, B)
    tl.static_assert(B == 6, f"B is {B}")

@triton.jit
def k_dtype(out, x, n):
    v = tl.load(x + tl.arange(0, 4))
    T: tl.constexpr = v.dtype
    w: tl.constexpr = T.primitive_bitwidth // 8
    tl.store(out, w)
    if T == tl.int32 and T.is_int():
        tl.store(out + 1, tl.sum(v.to(tl.float32)).to(tl.int32))
    else:
        tl.store(out + 1, nothing)
    tl.store(out + 2, n if n > 2 else -n)
    tl.store(out + 3, tl.sum(tl.where((v > 1) & (v < 4), v, 0)))

@triton.jit
def k_named(out, x, n):
    p = Pair(tl.load(x), tl.load(x + 1))
    tl.store(out, p.a * 3 + p.b)
    q = Pair(a=p.b, b=p.a)
    for i in range(0, n):
        q = Pair(q.b, q.a + i)
    tl.store(out + 1, q.a)
    tl.store(out + 2, q.b)
# expect: k_nested(out=zeros(3,i32), x=[4, 7, 2, 3, 9, 1, 5, 6]:i32, n=5) -> out == [74, 4, 3]
# expect: k_static(out=zeros(2,i32), x=[4, 7, 2, 3, 9, 1, 5, 6]:i32, n=5) -> out == [9, 432]
# expect: k_early(out=zeros(3,i32), x=[4, 7, 2, 3, 9, 1, 5, 6]:i32, n=5) -> out == [19, 26, -1]
# expect: k_while(out=zeros(3,i32), x=[4, 7, 2, 3, 9, 1, 5, 6]:i32, n=5) -> out == [5, 8, 5]
# expect: k_calls(out=zeros(5,i32), x=[4, 7, 2, 3, 9, 1, 5, 6]:i32, n=5) -> out == [15, 42, 12, 12, 6]
# expect: k_dtype(out=zeros(4,i32), x=[4, 7, 2, 3, 9, 1, 5, 6]:i32, n=5) -> out == [4, 16, 5, 5]
# expect: k_named(out=zeros(3,i32), x=[4, 7, 2, 3, 9, 1, 5, 6]:i32, n=5) -> out == [19, 8, 13]
