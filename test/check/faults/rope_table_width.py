# check: rope[4](x=randn(4x16,f32), cosine=rand(4x8,f32), sine=rand(4x8,f32), HALF=8)
# The tables hold half a head a row; the second one is addressed by whole heads.
import triton
import triton.language as tl


@triton.jit
def rope(x, cosine, sine, HALF: tl.constexpr):
    row = tl.program_id(0)
    d = tl.arange(0, HALF)
    c = tl.load(cosine + row * HALF + d)
    s = tl.load(sine + row * 2 * HALF + d)  # fault: . OutOfBounds `sine`
    a = tl.load(x + row * 2 * HALF + d)
    b = tl.load(x + row * 2 * HALF + HALF + d)
    tl.store(x + row * 2 * HALF + d, a * c - b * s)
    tl.store(x + row * 2 * HALF + HALF + d, b * c + a * s)
