# run: ref cpu gpu
# Rule 13: a pointer to int1 addresses bytes.
import triton
import triton.language as tl


@triton.jit
def invert(x, y, N: tl.constexpr):
    i = tl.arange(0, N)
    v = tl.load(x + i)
    tl.static_assert(v.dtype == tl.int1)
    tl.store(y + i, v == 0)

# expect: invert(x=[1, 0, 0, 1]:i1, y=zeros(4,i1), N=4) -> y == [0, 1, 1, 0]


@triton.jit
def select(m, y, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(y + i, tl.where(tl.load(m + i), i, -1))

# expect: select(m=[1, 0, 0, 1]:i1, y=zeros(4,i32), N=4) -> y == [0, -1, -1, 3]
