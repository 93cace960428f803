# check: split_words[1](x=arange(8,i32), y=empty(32,i8), z=empty(8,i32), N=8)
# Words are written byte by byte, then read as words.
import triton
import triton.language as tl


@triton.jit
def split_words(x, y, z, N: tl.constexpr):
    i = tl.arange(0, N)
    word = tl.load(x + i)
    for byte in tl.static_range(4):
        tl.store(y + i * 4 + byte, (word >> (8 * byte)).to(tl.int8))
    tl.debug_barrier()
    tl.store(z + i, tl.load(y.to(tl.pointer_type(tl.int32)) + i))
