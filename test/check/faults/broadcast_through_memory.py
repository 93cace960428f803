# check: centre[2](x=randn(64,f32), means=empty(2,f32), y=empty(64,f32), BLOCK=32)
# One thread stores the mean, all of them load it.
import triton
import triton.language as tl


@triton.jit
def centre(x, means, y, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    value = tl.load(x + row * BLOCK + i)
    tl.store(means + row, tl.sum(value, axis=0) / BLOCK)
    mean = tl.load(means + row + i * 0)  # fault: . MissingBarrier `means`
    tl.store(y + row * BLOCK + i, value - mean)
