# run: ref cpu
# Lanes that meet act one after the other, in their order, and each sees what the ones before it left.
import triton
import triton.language as tl


@triton.jit
def bins(y, old, m, N: tl.constexpr):
    i = tl.arange(0, N)
    seen = tl.atomic_add(y + i % m, i, mask=i != 5)
    tl.store(old + i, seen)

# expect: bins(y=zeros(3,i32), old=zeros(16,i32), m=3, N=16) -> y == [45, 35, 35]
#     and old == [0, 0, 0, 0, 1, 0, 3, 5, 2, 9, 12, 10, 18, 22, 21, 30]


@triton.jit
def last(y, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.atomic_xchg(y + i // 2, i, scope="cta")

# expect: last(y=zeros(8,i32), N=16) -> y == [1, 3, 5, 7, 9, 11, 13, 15]
