# check: mix[2](x=arange(64,i32), y=empty(64,i32), BLOCK=32)
import triton
import triton.language as tl


@triton.jit
def mix(x, y, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    h = tl.load(x + i) * 0x45D9F3B
    h = (h ^ (h >> 16)) * 0x45D9F3B + 1640531527
    tl.store(y + i, h ^ (h >> 16))
