# check: double[3](x=randn(96,f32), y=empty(96,f32), BLOCK=32)
# Blocks are one element too close, so neighbours write one element both.
import triton
import triton.language as tl


@triton.jit
def double(x, y, BLOCK: tl.constexpr):
    i = tl.program_id(0) * (BLOCK - 1) + tl.arange(0, BLOCK)
    value = tl.load(x + i)
    tl.store(y + i, value * (1.0 + tl.program_id(0)))  # fault: . DataRace `y`
