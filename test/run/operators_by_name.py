# run: ref cpu gpu
# The methods that operators stand for: `x.__rshift__(4)` is `x >> 4`, on tiles, scalars and numbers.
import triton
import triton.language as tl


@triton.jit
def nibbles(x, low, high):
    i = tl.arange(0, 4)
    b = tl.load(x + i)
    tl.store(low + i, b.__lshift__(4).to(tl.int8).__rshift__(4))
    tl.store(high + i, b.__rshift__(4))


@triton.jit
def others(x, y, n):
    i = tl.arange(0, 4)
    v = tl.load(x + i)
    tl.store(y + i, v.__mul__(2).__add__(v.__lt__(3).to(tl.int32)).__rsub__(100) + n.__add__(1))
    tl.store(y + 4 + i, v.__neg__() + v.__invert__() + v.__and__(1).__eq__(0))


# expect: nibbles(x=[18, -16, 127, -1]:i8) -> low:i8 == [2, 0, -1, -1] and high:i8 == [1, -1, 7, -1]
# expect: others(x=[1, 2, 3, 4]:i32, n=1) -> y:i32 == [99, 97, 96, 94, -3, -4, -7, -8]
