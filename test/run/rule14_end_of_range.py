# run: ref
# Rule 14: no overflow at the end of a range. The CPU and GPU back ends do not hold it yet (docs/design/STATUS.md).
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
