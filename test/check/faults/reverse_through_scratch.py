# check: reverse[2](x=randn(64,f32), scratch=empty(64,f32), y=empty(64,f32), BLOCK=32)
# Other threads stored what this load reads; without a barrier a GPU may read too early.
import triton
import triton.language as tl


@triton.jit
def reverse(x, scratch, y, BLOCK: tl.constexpr):
    base = tl.program_id(0) * BLOCK
    i = tl.arange(0, BLOCK)
    tl.store(scratch + base + i, tl.load(x + base + i))
    tl.store(y + base + i, tl.load(scratch + base + BLOCK - 1 - i))  # fault: . MissingBarrier `scratch`
