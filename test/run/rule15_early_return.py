# run: ref cpu gpu
# Rule 15: an early return inside a helper leaves the helper, not the caller's loop.
import triton
import triton.language as tl


@triton.jit
def clipped(x, low):
    if x < low:
        return low
    if x > 10:
        return x - 10
    return x


@triton.jit
def loop(x, y, n, low):
    for i in range(n):
        tl.store(y + i, clipped(tl.load(x + i), low))

# expect: loop(x=[-5, 3, 20, 10]:i32, y=zeros(4,i32), n=4, low=0) -> y == [0, 3, 10, 10]


@triton.jit
def leave(y, n):
    tl.store(y, 1)
    if n > 5:
        return
    tl.store(y + 1, 2)
    if n > 3:
        tl.store(y + 2, 3)
        return
    else:
        tl.store(y + 2, 4)
    tl.store(y + 3, 5)

# expect: leave(y=zeros(4,i32), n=6) -> y == [1, 0, 0, 0]
# expect: leave(y=zeros(4,i32), n=4) -> y == [1, 2, 3, 0]
# expect: leave(y=zeros(4,i32), n=2) -> y == [1, 2, 4, 5]


@triton.jit
def pair(x):
    if x > 0:
        return x, 1.0
    return -x, -1.0


@triton.jit
def tuples(y, x):
    a, s = pair(x)
    tl.store(y, a * s)

# expect: tuples(y=zeros(1,f32), x=-3) -> y == [-3]
# expect: tuples(y=zeros(1,f32), x=4) -> y == [4]
