# run: ref cpu gpu
# Comparisons of f16, the larger of two, and what is tested for NaN on the way to integers and to bf16.
import triton
import triton.language as tl


@triton.jit
def larger(x, y, most, least, nans, N: tl.constexpr):
    i = tl.arange(0, N)
    a = tl.load(x + i)
    b = tl.load(y + i)
    tl.store(most + i, tl.maximum(a, b))
    tl.store(least + i, tl.minimum(a, b))
    tl.store(nans + i, tl.maximum(a, b, propagate_nan=tl.PropagateNan.ALL))

# expect: larger(x=[1, -2, nan, 3, inf, -inf, 6e-08, nan]:f16, y=[2, -3, 1, nan, 1, 0, 0, nan]:f16, N=8)
#     -> most:f16 == [2, -2, 1, 3, inf, 0, 5.9604644775390625e-08, nan] and least:f16 == [1, -3, 1, 3, 1, -inf, 0, nan]
#     and nans:f16 == [2, -2, nan, nan, inf, 0, 5.9604644775390625e-08, nan]


@triton.jit
def cast(x, y, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(y + i, tl.load(x + i).to(y.dtype.element_ty))

# expect: cast(x=[1.5, -2.75, nan, 300, inf, -inf, 6e-08, 127]:f16, y=zeros(8,i8), N=8) -> y == [1, -2, 0, 127, 127, -128, 0, 127]
# expect: cast(x=[1.5, -2.75, nan, 300, inf, -inf, 6e-08, 2049]:f16, y=zeros(8,i32), N=8) -> y == [1, -2, 0, 300, 2147483647, -2147483648, 0, 2048]
# expect: cast(x=[1.0029296875, -65504, nan, 0, inf, -inf, 0.333251953125, 1.0068359375]:f16, y=zeros(8,bf16), N=8)
#     -> y == [1, -65536, nan, 0, inf, -inf, 0.333984375, 1.0078125]
