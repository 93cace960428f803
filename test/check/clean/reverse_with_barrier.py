# check: reverse[2](x=randn(64,f32), scratch=empty(64,f32), y=empty(64,f32), BLOCK=32)
import triton
import triton.language as tl


@triton.jit
def reverse(x, scratch, y, BLOCK: tl.constexpr):
    base = tl.program_id(0) * BLOCK
    i = tl.arange(0, BLOCK)
    tl.store(scratch + base + i, tl.load(x + base + i))
    tl.debug_barrier()
    tl.store(y + base + i, tl.load(scratch + base + BLOCK - 1 - i))
