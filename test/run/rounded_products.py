# run: ref cpu gpu
# `round` is given the product as it is rounded, which is a half here; the exact one is a little less.
import triton
import triton.language as tl
from triton.language.extra import libdevice


@triton.jit
def rounded(x, s, y):
    i = tl.arange(0, 8)
    value = libdevice.round(tl.load(x + i) * tl.load(s + i))
    tl.store(y + i, value)
    tl.store(y + 8 + i, value.to(tl.int32))

# expect: rounded(x=[0.12244173139333725, 0.38194212317466736, 0.31267571449279785, -0.2784444987773895, 0.49999997, -0.5, 8388609, -0.3]:f32,
#     s=[12.250724792480469, 6.545494079589844, 11.193705558776855, 16.161209106445312, 1, 1, 1, 1]:f32, y=zeros(16,f32))
#     -> y == [2, 3, 4, -5, 0, -1, 8388609, 0, 2, 3, 4, -5, 0, -1, 8388609, 0]
