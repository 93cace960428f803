# check: normalise[3](x=randn(3x50,f32), sums=empty(3,f32), n=50, BLOCK=64)
# The sum has every thread's elements, so all of them have loaded what it stands for.
import triton
import triton.language as tl


@triton.jit
def normalise(x, sums, n, BLOCK: tl.constexpr):
    row = x + tl.program_id(0) * n
    i = tl.arange(0, BLOCK)
    first = tl.load(row)
    value = tl.load(row + i, mask=i < n, other=0.0)
    total = tl.sum(value)
    tl.store(sums + tl.program_id(0), total)
    tl.store(row + i, value - first, mask=i < n)
