# check: rope[4](x=randn(4x16,f32), cosine=rand(4x8,f32), sine=rand(4x8,f32), HALF=8)
# Both halves are read before either is overwritten.
import triton
import triton.language as tl


@triton.jit
def rope(x, cosine, sine, HALF: tl.constexpr):
    row = tl.program_id(0)
    d = tl.arange(0, HALF)
    c = tl.load(cosine + row * HALF + d)
    s = tl.load(sine + row * HALF + d)
    first = x + row * 2 * HALF + d
    second = first + HALF
    a = tl.load(first)
    b = tl.load(second)
    tl.store(first, a * c - b * s)
    tl.store(second, b * c + a * s)
