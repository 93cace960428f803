# check: rope[4](x=randn(4x16,f32), angle=rand(4x8,f32), HALF=8)
import triton
import triton.language as tl


@triton.jit
def rope(x, angle, HALF: tl.constexpr):
    row = tl.program_id(0)
    d = tl.arange(0, HALF)
    pair = tl.load(x + row * 2 * HALF + d[:, None] * 2 + tl.arange(0, 2)[None, :])
    a, b = tl.split(pair)
    t = tl.load(angle + row * HALF + d)
    turned = tl.join(a * tl.cos(t) - b * tl.sin(t), b * tl.cos(t) + a * tl.sin(t))
    tl.store(x + row * 2 * HALF + d[:, None] * 2 + tl.arange(0, 2)[None, :], turned)
