# run: ref cpu gpu
# Loops that ask whether a step is the last, in all the ways to ask, and pages of which all elements of a step have one number.
import triton
import triton.language as tl


@triton.jit
def pages(x, table, y, n, PAGE: tl.constexpr, N: tl.constexpr):
    at = tl.arange(0, N)
    total = tl.zeros([N], tl.float32)
    steps = tl.cdiv(n, N)
    for j in range(steps):
        token = j * N + at
        page = tl.load(table + token // PAGE)
        if j == steps - 1:
            v = tl.load(x + page * PAGE + token % PAGE, mask=token < n, other=0.0)
        else:
            v = tl.load(x + page * PAGE + token % PAGE)
        total += v * (j + 1)
    tl.store(y + at, total)

# One page a step, two, and half of one; ends within a step, at one, and nothing at all.
# expect: pages(x=iota(1024,f32), table=values([(i * 5 + 3) % 64 for i in range(64)], i32), y=full(16, 7.0, f32), n=100, PAGE=16, N=16)
#     -> y == [sum((((j * 5 + 3) % 64) * 16 + i) * (j + 1) for j in range(7) if j * 16 + i < 100) for i in range(16)]
# expect: pages(x=iota(1024,f32), table=values([(i * 5 + 3) % 64 for i in range(64)], i32), y=full(16, 7.0, f32), n=96, PAGE=16, N=16)
#     -> y == [sum((((j * 5 + 3) % 64) * 16 + i) * (j + 1) for j in range(6)) for i in range(16)]
# expect: pages(x=iota(1024,f32), table=values([(i * 5 + 3) % 64 for i in range(64)], i32), y=full(16, 7.0, f32), n=0, PAGE=16, N=16) -> y == [0 for i in range(16)]
# expect: pages(x=iota(1024,f32), table=values([(i * 5 + 3) % 64 for i in range(64)], i32), y=full(16, 7.0, f32), n=-5, PAGE=16, N=16) -> y == [0 for i in range(16)]
# expect: pages(x=iota(1024,f32), table=values([(i * 5 + 3) % 64 for i in range(64)], i32), y=full(32, 7.0, f32), n=100, PAGE=16, N=32)
#     -> y == [sum((((2 * j + i // 16) * 5 + 3) % 64 * 16 + i % 16) * (j + 1) for j in range(4) if j * 32 + i < 100) for i in range(32)]
# expect: pages(x=iota(1024,f32), table=values([(i * 5 + 3) % 32 for i in range(64)], i32), y=full(16, 7.0, f32), n=70, PAGE=32, N=16)
#     -> y == [sum(((j // 2 * 5 + 3) % 32 * 32 + j % 2 * 16 + i) * (j + 1) for j in range(5) if j * 16 + i < 70) for i in range(16)]


@triton.jit
def asked(x, y, first, n, HOW: tl.constexpr, STEP: tl.constexpr):
    at = tl.arange(0, STEP)
    total = tl.zeros([STEP], tl.float32)
    for i in range(first, n, STEP):
        if HOW == 0:
            whole = i + STEP <= n
        elif HOW == 1:
            whole = i < n - STEP
        elif HOW == 2:
            whole = n - STEP >= i
        elif HOW == 3:
            whole = not (i + STEP > n)
        else:
            whole = i <= n - STEP - 1
        if whole:
            v = tl.load(x + i + at)
        else:
            v = tl.load(x + i + at, mask=i + at < n, other=-1.0)
        total += v
    tl.store(y + at, total)

# expect: asked(x=iota(1000,f32), y=zeros(32,f32), first=0, n=500, HOW=0, STEP=32) -> y == [sum(s + i if s + i < 500 else -1 for s in range(0, 500, 32)) for i in range(32)]
# expect: asked(x=iota(1000,f32), y=zeros(32,f32), first=0, n=512, HOW=0, STEP=32) -> y == [sum(s + i for s in range(0, 512, 32)) for i in range(32)]
# expect: asked(x=iota(1000,f32), y=zeros(32,f32), first=5, n=500, HOW=1, STEP=32) -> y == [sum(s + i if s + i < 500 else -1 for s in range(5, 500, 32)) for i in range(32)]
# expect: asked(x=iota(1000,f32), y=zeros(32,f32), first=5, n=37, HOW=1, STEP=32) -> y == [sum(s + i if s + i < 37 else -1 for s in range(5, 37, 32)) for i in range(32)]
# expect: asked(x=iota(1000,f32), y=zeros(32,f32), first=7, n=500, HOW=2, STEP=32) -> y == [sum(s + i if s + i < 500 else -1 for s in range(7, 500, 32)) for i in range(32)]
# expect: asked(x=iota(1000,f32), y=zeros(32,f32), first=7, n=7, HOW=2, STEP=32) -> y == [0 for i in range(32)]
# expect: asked(x=iota(1000,f32), y=zeros(32,f32), first=0, n=33, HOW=3, STEP=32) -> y == [sum(s + i if s + i < 33 else -1 for s in range(0, 33, 32)) for i in range(32)]
# expect: asked(x=iota(1000,f32), y=zeros(32,f32), first=0, n=-2147483648, HOW=3, STEP=32) -> y == [0 for i in range(32)]
# expect: asked(x=iota(1000,f32), y=zeros(32,f32), first=-2147483648, n=-2147483648, HOW=3, STEP=32) -> y == [0 for i in range(32)]
# expect: asked(x=iota(1000,f32), y=zeros(32,f32), first=0, n=500, HOW=4, STEP=32) -> y == [sum(s + i if s + i < 500 else -1 for s in range(0, 500, 32)) for i in range(32)]


# A number that comes of a mask, one that is volatile, and an element of a tile that differs stay what they are.
@triton.jit
def numbers(x, flags, y, z, n, N: tl.constexpr):
    at = tl.arange(0, N)
    same = tl.load(x + tl.program_id(0) + at // N, mask=tl.full([N], 1, tl.int32) * n > 0, other=9.0)
    flag = tl.load(flags + at // (N // 2))
    kept = tl.load(x + tl.zeros([N], tl.int32), volatile=True)
    tl.store(y + tl.program_id(0) * N + at, same + kept)
    tl.store(z + tl.program_id(0) * N + at, flag.to(tl.float32), mask=flag > 0)

# expect: numbers[2](x=iota(8,f32), flags=values([0, 3], i32), y=zeros(32,f32), z=full(32, 5.0, f32), n=1, N=16)
#     -> y == [i // 16 for i in range(32)] and z == [3 if i % 16 >= 8 else 5 for i in range(32)]
# expect: numbers[2](x=iota(8,f32), flags=values([0, 3], i32), y=zeros(32,f32), z=full(32, 5.0, f32), n=0, N=16)
#     -> y == [9 for i in range(32)] and z == [3 if i % 16 >= 8 else 5 for i in range(32)]
