# check: update[1](x=randn(4x32,f32), mean=empty(32,f32), M=4, N=32, momentum=0.1)
import triton
import triton.language as tl


@triton.jit
def update(x, mean, M, N: tl.constexpr, momentum):
    columns = tl.arange(0, N)
    total = tl.zeros([N], dtype=tl.float32)
    for row in range(0, M):
        total += tl.load(x + row * N + columns)
    old = tl.load(mean + columns)  # fault: . UninitialisedRead `mean`
    tl.store(mean + columns, old * (1 - momentum) + total / M * momentum)
