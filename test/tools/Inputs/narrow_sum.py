import triton
import triton.language as tl


@triton.jit
def total(x, y):
    acc = tl.load(x)
    for i in range(1, 64):
        acc = acc + tl.load(x + i)
    tl.store(y, acc)
