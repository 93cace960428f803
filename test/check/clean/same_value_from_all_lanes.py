# check: flag_negative[1](x=[1, -2, 3, -4]:f32, found=zeros(1,i32), N=4)
# Lanes of one program store one value to one place: which one wins makes no difference.
import triton
import triton.language as tl


@triton.jit
def flag_negative(x, found, N: tl.constexpr):
    i = tl.arange(0, N)
    value = tl.load(x + i)
    tl.store(found + i * 0, tl.full([N], 1, tl.int32), mask=value < 0)
