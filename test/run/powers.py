# run: ref cpu gpu
# x^y of numbers, and where one of them is none.
import triton
import triton.language as tl
from triton.language.extra import libdevice


@triton.jit
def power(x, y, z, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(z + i, libdevice.pow(tl.load(x + i), tl.load(y + i)))

# expect: power(x=[i / 16 for i in range(1, 257)]:f32, y=[(i % 9 - 4) * 0.75 for i in range(256)]:f32, N=256)
#     -> z ~= [(i / 16) ** (((i - 1) % 9 - 4) * 0.75) for i in range(1, 257)] within 4e-6
# expect: power(x=[-3, -2, -1.5, -1, -0.5, 2, 10, 1e-40]:f32, y=[3, 4, -5, 16777217, -4, -149, -45, 0.5]:f32, N=8)
#     -> z ~= [-27, 16, -0.131687239, 1, 16, 1.4e-45, 1e-45, 1e-20] within 2e-6
# expect: power(x=[nan, 1, nan, nan, 0, -0.0, 0, -0.0, -0.0, -0.0, -1, -1, 0.5, 0.5, -2, -2]:f32, y=[0, nan, 1, nan, 2, 3, -1, -3, 2, -2, inf, -inf, inf, -inf, inf, -inf]:f32, N=16)
#     -> z == [1, 1, nan, nan, 0, -0.0, inf, -inf, 0, inf, 1, 1, 0, inf, inf, 0]
# expect: power(x=[inf, inf, -inf, -inf, -inf, -inf, -inf, -inf, -2, -0.5, -1, -0.0, 0, 3e38, -3e38, inf]:f32, y=[2, -2, 3, 2, -3, -2, 0.5, -0.5, 0.5, -1.5, nan, 0.5, 1e-3, 2, 3, 1e-30]:f32, N=16)
#     -> z == [inf, 0, -inf, inf, -0.0, 0, inf, 0, nan, nan, nan, 0, 0, inf, -inf, inf]
# expect: power(x=[3 * 2 ** (i - 149) for i in range(64)]:f32, y=[-0.5 for i in range(64)]:f32, N=64)
#     -> z ~= [(3 * 2 ** (i - 149)) ** -0.5 for i in range(64)] within 4e-6
# expect: power(x=[2 ** (i - 149) for i in range(64)]:f32, y=[1 for i in range(64)]:f32, N=64) -> z == [2 ** (i - 149) for i in range(64)]
