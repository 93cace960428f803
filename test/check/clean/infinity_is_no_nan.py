# check: logs[1](x=[0.0, 1.0, 0.5, 2.0]:f32, y=empty(4,f32), z=empty(4,f32), N=4)
import triton
import triton.language as tl


@triton.jit
def logs(x, y, z, N: tl.constexpr):
    i = tl.arange(0, N)
    value = tl.load(x + i)
    tl.store(y + i, tl.log(value))
    tl.store(z + i, 1.0 / value)
