# run: ref cpu gpu
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


@triton.jit
def turn_over(p, N: tl.constexpr):
    i = tl.arange(0, N)
    t = tl.load(p + i[:, None] * N + i[None, :])
    tl.store(p + i[None, :] * N + i[:, None], t)

# expect: turn_over(p=iota(16,i32), N=4) -> p == [0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15]
# expect: turn_over(p=iota(4096,i32), N=64) -> p == [i % 64 * 64 + i // 64 for i in range(4096)]


# Each step overwrites what the step before read, and the other way round.
@triton.jit
def move_down(p, n, B: tl.constexpr):
    i = tl.arange(0, B)
    for start in range(0, n, B):
        tl.store(p + start + i, tl.load(p + start + i + 1))

# expect: move_down(p=iota(1025,i32), n=1024, B=256) -> p == [min(i + 1, 1024) for i in range(1025)]


@triton.jit
def move_up(p, n, B: tl.constexpr):
    i = tl.arange(0, B)
    for start in range(0, n, B):
        tl.store(p + start + i + 1, tl.load(p + start + i))

# A step reads what the one before stored behind its own block.
# expect: move_up(p=iota(9,i32), n=8, B=4) -> p == [0, 0, 1, 2, 3, 3, 5, 6, 7]
# expect: move_up(p=iota(1025,i32), n=1024, B=256) -> p == [i - 1 - (i > 1 and i % 256 == 1) if i else 0 for i in range(1025)]


# Numbers are loaded by all threads and stored by one.
@triton.jit
def running(p, n):
    for i in range(1, n):
        tl.store(p + i, tl.load(p + i) + tl.load(p + i - 1))

# expect: running(p=iota(100,i32), n=100) -> p == [i * (i + 1) // 2 for i in range(100)]


@triton.jit
def counted(p, y, N: tl.constexpr):
    i = tl.arange(0, N)
    seen = tl.load(p)
    if seen == 0:
        tl.store(p, 7)
        again = tl.load(p)
    else:
        again = seen
    tl.store(y + i, again + i)

# expect: counted(p=zeros(1,i32), y=zeros(512,i32), N=512) -> y == [i + 7 for i in range(512)]


@triton.jit
def halve(p, total, N: tl.constexpr):
    i = tl.arange(0, N)
    size = N // 2
    while size > 0:
        both = tl.load(p + i, mask=i < size, other=0) + tl.load(p + i + size, mask=i < size, other=0)
        tl.store(p + i, both, mask=i < size)
        size //= 2
    tl.store(total, tl.load(p))

# expect: halve(p=iota(1024,i32), total=zeros(1,i32), N=1024) -> total == [523776]


# Blocks of a descriptor are copied ahead of their step, behind the store that fills them.
@triton.jit
def filled(p, y, steps):
    i = tl.arange(0, 64)
    tl.store(p + i[:, None] * 64 + i[None, :], tl.full([64, 64], 1.0, tl.float16))
    d = tl.make_tensor_descriptor(p, [64, 64], [64, 1], [64, 16])
    total = tl.zeros([64, 64], tl.float32)
    for step in range(steps):
        block = d.load([0, step * 16])
        total += tl.dot(block, tl.trans(block))
    tl.store(y + i[:, None] * 64 + i[None, :], total)

# expect: filled(p=zeros(4096,f16), y=zeros(4096,f32), steps=4) -> y == [64 for i in range(4096)]
