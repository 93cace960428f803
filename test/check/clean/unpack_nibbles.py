# check: unpack[1](packed=randint(16,0,255,u8), out=empty(32,i32), N=32)
import triton
import triton.language as tl


@triton.jit
def unpack(packed, out, N: tl.constexpr):
    i = tl.arange(0, N)
    byte = tl.load(packed + i // 2).to(tl.int32)
    tl.store(out + i, (byte >> (i % 2 * 4)) & 0xF)
