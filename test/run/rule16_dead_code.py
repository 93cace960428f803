# run: ref cpu gpu
# Rule 16: run-time and/or do not short-circuit; dead constexpr branches may hold anything.
import triton
import triton.language as tl


@triton.jit
def dead(y, FLAG: tl.constexpr):
    if FLAG:
        tl.store(y, 1)
    else:
        this_name_does_not_exist(1, 2, 3).nor_this[4]
        raise ValueError("never seen")
    z = 2 if FLAG else unknown_too
    tl.store(y + 1, z)

# expect: dead(y=zeros(2,i32), FLAG=1) -> y == [1, 2]


@triton.jit
def logic(x, y, N: tl.constexpr):
    i = tl.arange(0, N)
    v = tl.load(x + i)
    tl.store(y + i, ((v > 1) and (v < 5)) or (v == 9))

# expect: logic(x=[0, 2, 5, 9]:i32, y=zeros(4,i32), N=4) -> y == [0, 1, 0, 1]


@triton.jit
def constexpr_logic(y, A: tl.constexpr, B: tl.constexpr):
    if A is not None and A > B:
        tl.store(y, 1)
    if A is None or A > B:
        tl.store(y + 1, 1)

# expect: constexpr_logic(y=zeros(2,i32), A=None, B=3) -> y == [0, 1]
# expect: constexpr_logic(y=zeros(2,i32), A=4, B=3) -> y == [1, 1]
