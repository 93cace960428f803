# check: count[2](keys=arange(64,i32), slots=zeros(16,i32), BLOCK=32)
# A product that wraps on purpose becomes an index, after it was reduced to the table's size.
import triton
import triton.language as tl


@triton.jit
def count(keys, slots, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    h = tl.load(keys + i).to(tl.uint32) * 2654435761
    slot = (h >> 28).to(tl.int32)
    tl.atomic_add(slots + slot, 1)
