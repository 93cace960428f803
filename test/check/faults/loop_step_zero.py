# check: total[1](x=randn(16,f32), out=empty(1,f32), n=16, step=0)
import triton
import triton.language as tl


@triton.jit
def total(x, out, n, step):
    acc = 0.0
    for i in range(0, n, step):  # fault: . LoopStep
        acc += tl.load(x + i)
    tl.store(out, acc)
