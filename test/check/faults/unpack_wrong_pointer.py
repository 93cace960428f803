# check: unpack[1](packed=randint(16,0,255,u8), out=empty(32,i32), N=32)
# Two values of four bits share a byte, so the byte of value i is i // 2.
import triton
import triton.language as tl


@triton.jit
def unpack(packed, out, N: tl.constexpr):
    i = tl.arange(0, N)
    byte = tl.load(packed + i)  # fault: . OutOfBounds `packed`
    value = (byte >> ((i % 2) * 4).to(tl.uint8)) & 0xF
    tl.store(out + i, value.to(tl.int32))
