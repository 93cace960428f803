# check: as_words[1](x=randint(64,0,127,i8), out=empty(16,i32), N=16)
import triton
import triton.language as tl


@triton.jit
def as_words(x, out, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(out + i, tl.load(x.to(tl.pointer_type(tl.int32)) + i))
