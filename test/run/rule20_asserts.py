# run: ref cpu gpu
# Rule 20: device_assert vanishes without debug.
import triton
import triton.language as tl


@triton.jit
def asserts(x, y):
    tl.device_assert(tl.load(x) > 100, "never looked at")
    tl.store(y, 1)

# expect: asserts(x=[1]:i32, y=zeros(1,i32)) -> y == [1]


@triton.jit
def static(y, N: tl.constexpr):
    tl.static_assert(N % 2 == 0, "N is even")
    tl.store(y, N)

# expect: static(y=zeros(1,i32), N=4) -> y == [4]
