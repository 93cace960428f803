# check: compact[2](x=randn(64,f32), out=empty(64,f32), count=zeros(1,i32), BLOCK=32)
import triton
import triton.language as tl


@triton.jit
def compact(x, out, count, BLOCK: tl.constexpr):
    value = tl.load(x + tl.program_id(0) * BLOCK + tl.arange(0, BLOCK))
    keep = (value > 0).to(tl.int32)
    first = tl.atomic_add(count, tl.sum(keep, axis=0), sem="relaxed")
    place = first + tl.cumsum(keep, axis=0) - keep
    tl.store(out + place, value, mask=keep != 0)
