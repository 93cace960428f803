import triton
import triton.language as tl


@triton.jit
def block_each(out, n, BLOCK: tl.constexpr):
    me = tl.program_id(0)
    i = me * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, me, mask=i < n)


@triton.jit
def striding(out, n, BLOCK: tl.constexpr):
    me = tl.program_id(0)
    for start in range(me * BLOCK, n, tl.num_programs(0) * BLOCK):
        i = start + tl.arange(0, BLOCK)
        tl.store(out + i, me, mask=i < n)
