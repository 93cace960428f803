# check: pooled[3](x=randn(10x8,f32), starts=[0, 3, 3, 10]:i32, y=empty(3x8,f32), D=8, BLOCK=8)
# The empty sequence's mean is guarded by a maximum.
import triton
import triton.language as tl


@triton.jit
def pooled(x, starts, y, D: tl.constexpr, BLOCK: tl.constexpr):
    sequence = tl.program_id(0)
    begin = tl.load(starts + sequence)
    end = tl.load(starts + sequence + 1)
    d = tl.arange(0, D)
    rows = begin + tl.arange(0, BLOCK)
    value = tl.load(x + rows[:, None] * D + d[None, :], mask=(rows < end)[:, None], other=0.0)
    tl.store(y + sequence * D + d, tl.sum(value, axis=0) / tl.maximum(end - begin, 1))
