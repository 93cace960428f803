# run: ref cpu gpu
# Rule 8: 1, a multiple of 16, any other value, a wide value and None are five specialisations.
import triton
import triton.language as tl


@triton.jit
def five(y, n):
    if n is None:
        tl.store(y, -1)
    else:
        tl.store(y, n + 1)

# expect: five(y=zeros(1,i64), n=1) -> y == [2]
# expect: five(y=zeros(1,i64), n=16) -> y == [17]
# expect: five(y=zeros(1,i64), n=17) -> y == [18]
# expect: five(y=zeros(1,i64), n=2147483648) -> y == [2147483649]
# expect: five(y=zeros(1,i64), n=None) -> y == [-1]


# The value 1 is a constexpr, where that can be seen.
@triton.jit
def one_is_known(y, n):
    tl.store(y + tl.arange(0, n), 5)

# expect: one_is_known(y=zeros(2,i32), n=1) -> y == [5, 0]
