# check: compact[2](x=randn(64,f32), out=empty(64,f32), count=zeros(1,i32), BLOCK=32)
# Positions are claimed by a load and a store, so two programs claim the same ones.
import triton
import triton.language as tl


@triton.jit
def compact(x, out, count, BLOCK: tl.constexpr):
    value = tl.load(x + tl.program_id(0) * BLOCK + tl.arange(0, BLOCK))
    keep = (value > 0).to(tl.int32)
    first = tl.load(count)
    tl.store(count, first + tl.sum(keep, axis=0))  # fault: .|.-1 DataRace `count`
    place = first + tl.cumsum(keep, axis=0) - keep
    tl.store(out + place, value, mask=keep != 0)  # maybe: . DataRace
