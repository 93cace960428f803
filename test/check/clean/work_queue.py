# check: drain[3](x=randn(64,f32), y=empty(64,f32), next=zeros(1,i32), BLOCKS=4, BLOCK=16)
# Programs draw blocks from a counter, so each block has one owner.
import triton
import triton.language as tl


@triton.jit
def drain(x, y, next, BLOCKS, BLOCK: tl.constexpr):
    block = tl.atomic_add(next, 1, sem="relaxed")
    while block < BLOCKS:
        i = block * BLOCK + tl.arange(0, BLOCK)
        tl.store(y + i, tl.load(x + i) * 2)
        block = tl.atomic_add(next, 1, sem="relaxed")
