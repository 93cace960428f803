# check: partial[4](x=randn(256,f32), sums=empty(2,f32), BLOCK=64)
# The workspace was sized for blocks twice as large.
import triton
import triton.language as tl


@triton.jit
def partial(x, sums, BLOCK: tl.constexpr):
    block = tl.program_id(0)
    value = tl.load(x + block * BLOCK + tl.arange(0, BLOCK))
    tl.store(sums + block, tl.sum(value, axis=0))  # fault: . OutOfBounds `sums`
