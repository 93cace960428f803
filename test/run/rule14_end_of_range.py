# run: ref cpu gpu
# Rule 14: no overflow at the end of a range.
import triton
import triton.language as tl


@triton.jit
def near_the_end(y, lo, hi):
    count = 0
    for i in range(lo, hi, 4):
        count += 1
    tl.store(y, count)

# expect: near_the_end(y=zeros(1,i32), lo=2147483640, hi=2147483647) -> y == [2]
# expect: near_the_end(y=zeros(1,i32), lo=5, hi=5) -> y == [0]
# expect: near_the_end(y=zeros(1,i32), lo=5, hi=-5) -> y == [0]
# expect: near_the_end(y=zeros(1,i32), lo=-2147483648, hi=-2147483640) -> y == [2]

@triton.jit
def near_the_end_of_i64(y, lo, hi, step):
    count = 0
    last = lo
    for i in range(lo, hi, step):
        count += 1
        last = i
    tl.store(y, count)
    tl.store(y + 1, last)

# expect: near_the_end_of_i64(y=zeros(2,i64), lo=9223372036854775800, hi=9223372036854775807, step=5) -> y == [2, 9223372036854775805]
# expect: near_the_end_of_i64(y=zeros(2,i64), lo=-2147483648, hi=2147483647, step=1073741824) -> y == [4, 1073741824]
