# run: ref cpu gpu
# Behind a run-time loop a name has what the loop's last step gave it. After no step it has no value: the interpreter
# says so (test/check/faults/last_step.py), compiled code computes with zero.
import triton
import triton.language as tl


@triton.jit
def last(x, y, n, N: tl.constexpr):
    at = tl.arange(0, N)
    for i in range(n):
        v = tl.load(x + i * N + at)
        pair = (v * 2, x + i)
    tl.store(y + at, v + pair[0])
    tl.store(y + N, i)
    tl.store(y + N + 1, tl.load(pair[1]))

# expect: last(x=iota(32,i32), y=zeros(6,i32), n=3, N=4) -> y == [24, 27, 30, 33, 2, 2]

@triton.jit
def counter(y, lo, hi, STEP: tl.constexpr):
    for i in range(lo, hi, STEP):
        pass
    tl.store(y, i)

# expect: counter(y=zeros(1,i32), lo=3, hi=20, STEP=5) -> y == [18]
# expect: counter(y=zeros(1,i32), lo=20, hi=3, STEP=-5) -> y == [5]

@triton.jit
def nested(x, y, n, m):
    for i in range(n):
        for j in range(m):
            v = tl.load(x + i * m + j)
        w = v + 1
    tl.store(y, w * 1000 + v * 100 + i * 10 + j)

# expect: nested(x=iota(6,i32), y=zeros(1,i32), n=2, m=3) -> y == [6512]

@triton.jit
def until(x, y, n):
    at = 0
    while at < n:
        v = tl.load(x + at)
        at += 2
    tl.store(y, v)

# expect: until(x=iota(10,i32), y=zeros(1,i32), n=5) -> y == [4]

@triton.jit
def guarded(x, y, n):
    for i in range(n):
        v = tl.load(x + i)
    if n > 0:
        tl.store(y, v)

# expect: guarded(x=iota(4,i32), y=[-1]:i32, n=0) -> y == [-1]
# expect: guarded(x=iota(4,i32), y=[-1]:i32, n=4) -> y == [3]

# The variable of a loop that was something before the loop is that after no step.
@triton.jit
def reused(x, y, n):
    k = tl.load(x)
    for k in range(n):
        pass
    i = 7
    for i in range(2, n):
        pass
    tl.store(y, k)
    tl.store(y + 1, i)

# expect: reused(x=[5]:i32, y=zeros(2,i32), n=0) -> y == [5, 7]
# expect: reused(x=[5]:i32, y=zeros(2,i32), n=4) -> y == [3, 3]

# A loop around it carries it then, from step to step.
@triton.jit
def carried(y, n, k, N: tl.constexpr):
    sum = 0
    j = N
    for i in range(n):
        for k in range(k):
            for j in range(i, j):
                sum += 1
            sum += 100 * j
    tl.store(y, sum)
    tl.store(y + 1, k)
    tl.store(y + 2, j)

# expect: carried(y=zeros(3,i32), n=3, k=4, N=3) -> y == [306, 1, 0]
# expect: carried(y=zeros(3,i32), n=3, k=6, N=9) -> y == [4342, 3, 1]
