# check: segment_mean[3](x=randn(8,f32), starts=[0, 4, 4, 8]:i32, out=empty(3,f32), BLOCK=8)
# The middle segment is empty.
import triton
import triton.language as tl


@triton.jit
def segment_mean(x, starts, out, BLOCK: tl.constexpr):
    segment = tl.program_id(0)
    begin = tl.load(starts + segment)
    end = tl.load(starts + segment + 1)
    i = begin + tl.arange(0, BLOCK)
    value = tl.load(x + i, mask=i < end, other=0.0)
    mean = tl.sum(value, axis=0) / (end - begin)  # fault: . NotANumber
    tl.store(out + segment, mean)
