# run: ref cpu gpu
# xfail: model On GPUs no barrier stands between a load and the store that overwrites what other threads load; only how warps usually
#     advance hides it.
# Rule 1: tile memory ops happen whole and in program order.
import triton
import triton.language as tl


@triton.jit
def reverse(p, N: tl.constexpr):
    i = tl.arange(0, N)
    t = tl.load(p + i)
    tl.store(p + N - 1 - i, t)

# expect: reverse(p=iota(8,i32), N=8) -> p == [7, 6, 5, 4, 3, 2, 1, 0]
# expect: reverse(p=iota(4096,f32), N=4096) -> p == [4095 - i for i in range(4096)]


@triton.jit
def shift_up(p, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(p + i + 1, tl.load(p + i))
    tl.store(p + i + 1, tl.load(p + i) + 100)

# expect: shift_up(p=iota(5,i32), N=4) -> p == [0, 100, 100, 101, 102]


# A tile read before a store keeps what it read, however late it is used.
@triton.jit
def keep(p, y, N: tl.constexpr):
    i = tl.arange(0, N)
    before = tl.load(p + i)
    tl.store(p + i, before * 10)
    after = tl.load(p + i)
    tl.store(y + i, after - before)

# expect: keep(p=iota(4,i32), y=zeros(4,i32), N=4) -> y == [0, 9, 18, 27] and p == [0, 10, 20, 30]
