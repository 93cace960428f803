# run: ref cpu gpu
import triton
import triton.language as tl


@triton.jit
def three(x):
    return x, x * 2, x * 3


# As in Triton, names are bound one by one, and what is left has none.
@triton.jit
def surplus(x, out):
    a, b = three(tl.load(x))
    (c, d), e = (1, 2, 3), 4, 5
    tl.store(out, a * 1000 + b * 100 + c * 10 + d + e)


# expect: surplus(x=[2]:i32) -> out:i32 == [2416]


# `tl.constexpr(...)` of a run-time value is that value.
@triton.jit
def boxed(x, out):
    n = tl.constexpr(tl.minimum(tl.load(x), 4))
    total = 0
    for i in tl.range(0, n):
        total += i
    tl.store(out, total)


# expect: boxed(x=[3]:i32) -> out:i32 == [3]
# expect: boxed(x=[9]:i32) -> out:i32 == [6]
