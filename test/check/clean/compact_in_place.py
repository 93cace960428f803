# check: compact[1](x=randn(100,f32), count=empty(1,i32), n=100, BLOCK=32)
# Positive numbers move to the front. Where each goes is known when all threads of the block have loaded.
import triton
import triton.language as tl


@triton.jit
def compact(x, count, n, BLOCK: tl.constexpr):
    kept = 0
    for start in range(0, n, BLOCK):
        i = start + tl.arange(0, BLOCK)
        value = tl.load(x + i, mask=i < n, other=0.0)
        keep = (value > 0).to(tl.int32)
        place = kept + tl.cumsum(keep) - keep
        tl.store(x + place, value, mask=keep != 0)
        kept += tl.sum(keep)
    tl.store(count, kept)
