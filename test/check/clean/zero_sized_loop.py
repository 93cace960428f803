# check: sums[2](x=randn(8,f32), starts=[0, 0, 8]:i32, out=empty(2,f32), BLOCK=8)
# The first segment is empty, and its loop runs no time.
import triton
import triton.language as tl


@triton.jit
def sums(x, starts, out, BLOCK: tl.constexpr):
    segment = tl.program_id(0)
    begin = tl.load(starts + segment)
    end = tl.load(starts + segment + 1)
    acc = tl.zeros([BLOCK], dtype=tl.float32)
    for start in range(begin, end, BLOCK):
        i = start + tl.arange(0, BLOCK)
        acc += tl.load(x + i, mask=i < end, other=0.0)
    tl.store(out + segment, tl.sum(acc, axis=0))
