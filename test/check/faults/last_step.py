# check: last[1](x=iota(8,i32), y=zeros(1,i32), n=0)
# Without a row there is no last one.
import triton
import triton.language as tl


@triton.jit
def last(x, y, n):
    for i in range(n):
        v = tl.load(x + i)
    tl.store(y, v)  # fault: . LoopOnly
