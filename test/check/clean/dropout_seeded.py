# check: dropout[2](x=randn(50,f32), y=empty(50,f32), n=50, p=0.5, seed=1234, BLOCK=32)
# The generator multiplies 32-bit integers until they wrap; none of them is an address.
import triton
import triton.language as tl


@triton.jit
def dropout(x, y, n, p, seed, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    keep = tl.rand(seed, i) > p
    value = tl.load(x + i, mask=i < n)
    tl.store(y + i, tl.where(keep, value / (1 - p), 0.0), mask=i < n)
