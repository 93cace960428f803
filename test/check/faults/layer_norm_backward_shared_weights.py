# check: backward[4](x=randn(4x16,f32), dy=randn(4x16,f32), dw=zeros(16,f32), N=16)
# Each row adds to the weights' gradient as if it were alone.
import triton
import triton.language as tl


@triton.jit
def backward(x, dy, dw, N: tl.constexpr):
    row = tl.program_id(0)
    columns = tl.arange(0, N)
    value = tl.load(x + row * N + columns) * tl.load(dy + row * N + columns)
    value += tl.load(dw + columns)
    tl.store(dw + columns, value)  # fault: .|.-1 DataRace `dw`
