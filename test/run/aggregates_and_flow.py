# run: ref cpu gpu
# Aggregates with methods, chained conditions, loops that count down, constexpr arithmetic and membership, scans of pairs.
import triton
import triton.language as tl
from triton.language.core import _aggregate as aggregate

@aggregate
class Acc:
    total: tl.tensor
    scale: tl.constexpr

    def __init__(self, total, scale):
        self.total = total
        self.scale = tl.constexpr(scale)

    @triton.jit
    def add(self, v):
        return Acc(self.total + v * self.scale, self.scale)

    @triton.jit
    def get(self):
        return self.total

@triton.jit
def k_aggregate(out, x, n):
    a = Acc(tl.load(x), 3)
    for i in range(1, n):
        a = a.add(tl.load(x + i))
    tl.store(out, a.get())
    tl.store(out + 1, a.scale)

@triton.jit
def k_flow(out, x, n):
    v = tl.load(x)
    if v > 3 and n > 2:
        r = 1
    elif v == 0 or n == 7:
        r = 2
    else:
        r = 3
    tl.store(out, r)
    t = tl.load(x + tl.arange(0, 8))
    tl.store(out + 1, tl.sum(t if n > 3 else -t))
    tl.store(out + 2, 1 if not (v < 3) else 0)
    m = 0
    for i in range(n - 1, -1, -1):
        if i % 2 == 0:
            m = m * 10 + i
    tl.store(out + 3, m)
    tl.store(out + 4, (-7) // 2)
    w = n - 12
    tl.store(out + 5, w // 2)
    tl.store(out + 6, w % 4)
    tl.store(out + 7, (2 < v < 9) & (n != 4))

@triton.jit
def k_const(out, x, n, A: tl.constexpr = 3, B: tl.constexpr = (1, (2, 4)), S: tl.constexpr = "sum"):
    c: tl.constexpr = A if A > 2 else -A
    tl.store(out, c + B[1][0] + B[-1][-1] + len(B))
    if S == "sum":
        tl.store(out + 1, n)
    elif S == "max":
        tl.store(out + 1, undefined_name)
    if S in ("sum", "max"):
        tl.store(out + 2, 9)
    if "x" not in S and not (A is None):
        tl.store(out + 3, A ** 2 % 5 << 2)
    tl.store(out + 4, max(A, 7) + min(2, A))
    s: tl.constexpr = [i for i in (1, 2, 3)][1]
    tl.store(out + 5, s)

@triton.jit
def combine(a1, b1, a2, b2):
    return a1 * a2, b1 * a2 + b2

@triton.jit
def k_scan(out, x, n):
    i = tl.arange(0, 8)
    v = tl.load(x + i)
    p, q = tl.associative_scan((v * 0 + 2, v), 0, combine)
    tl.store(out + i, q)
# expect: k_aggregate(out=zeros(2,i32), x=[4, 7, 2, 3, 9, 1, 5, 6]:i32, n=5) -> out == [67, 3]
# expect: k_flow(out=zeros(8,i32), x=[4, 7, 2, 3, 9, 1, 5, 6]:i32, n=5) -> out == [1, 37, 1, 420, -4, -3, -3, 1]
# expect: k_const(out=zeros(6,i32), x=[4, 7, 2, 3, 9, 1, 5, 6]:i32, n=5) -> out == [11, 5, 9, 16, 9, 2]
# expect: k_scan(out=zeros(8,i32), x=[4, 7, 2, 3, 9, 1, 5, 6]:i32, n=5) -> out == [4, 15, 32, 67, 143, 287, 579, 1164]
