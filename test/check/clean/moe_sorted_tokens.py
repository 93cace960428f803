# check: experts[3](x=randn(6x16,f32), w=randn(2x16,f32), order=[4, 1, 99, 0, 2, 5]:i32, expert=[0, 0, 1]:i32, y=empty(6x16,f32), TOKENS=6, PAIR=2, D=16)
# Padding entries name a token behind the last one, and are masked.
import triton
import triton.language as tl


@triton.jit
def experts(x, w, order, expert, y, TOKENS, PAIR: tl.constexpr, D: tl.constexpr):
    block = tl.program_id(0)
    token = tl.load(order + block * PAIR + tl.arange(0, PAIR))
    mask = (token < TOKENS)[:, None]
    d = tl.arange(0, D)
    weight = tl.load(w + tl.load(expert + block) * D + d)
    at = token[:, None] * D + d[None, :]
    tl.store(y + at, tl.load(x + at, mask=mask) * weight[None, :], mask=mask)
