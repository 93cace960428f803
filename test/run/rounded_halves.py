# run: ref cpu gpu
# Sums, differences and products in f32 that are rounded to halves: the halves' own instructions give the same bits, and contract nothing.
import triton
import triton.language as tl


@triton.jit
def rounded(x, y, sums, differences, products, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    a = tl.load(x + at).to(tl.float32)
    b = tl.load(y + at).to(tl.float32)
    tl.store(sums + at, (a + b).to(x.dtype.element_ty))
    tl.store(differences + at, (a - b).to(x.dtype.element_ty))
    tl.store(products + at, (a * b).to(x.dtype.element_ty))

# Ties go to even, zeros keep their signs, what is too large is infinite.
# expect: rounded(x=values([256.0, 258.0, -0.0, 0.0, 3e38, inf, 1.0078125, 2.0] * 32, bf16), y=values([1.0, 1.0, -0.0, -0.0, 3e38, -inf, 1.0078125, -2.0] * 32, bf16), BLOCK=256) -> sums:bf16 == [256.0, 260.0, -0.0, 0.0, inf, nan, 2.015625, 0.0] * 32 and
#     differences:bf16 == [255.0, 256.0, 0.0, 0.0, 0.0, inf, 0.0, 4.0] * 32 and products:bf16 == [256.0, 258.0, 0.0, -0.0, inf, -inf, 1.015625, -4.0] * 32
# expect: rounded(x=values([2048.0, 2050.0, -0.0, 0.0, 6e4, inf, 1.0009765625, 6e-8] * 32, f16), y=values([1.0, 1.0, -0.0, -0.0, 6e4, -inf, 1.0009765625, 6e-8] * 32, f16), BLOCK=256) -> sums:f16 == [2048.0, 2052.0, -0.0, 0.0, inf, nan, 2.001953125, 2.0 ** -23] * 32 and
#     differences:f16 == [2047.0, 2048.0, 0.0, 0.0, 0.0, inf, 0.0, 0.0] * 32 and products:f16 == [2048.0, 2050.0, 0.0, -0.0, inf, -inf, 1.001953125, 0.0] * 32


# The product is rounded before it meets the sum.
@triton.jit
def twice(x, y, z, out, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    product = (tl.load(x + at).to(tl.float32) * tl.load(y + at).to(tl.float32)).to(x.dtype.element_ty)
    tl.store(out + at, product + tl.load(z + at))

# expect: twice(x=values([1.0078125] * 256, bf16), y=values([1.0078125] * 256, bf16), z=values([-1.015625] * 256, bf16), BLOCK=256) -> out:bf16 == [0.0] * 256
# expect: twice(x=values([1.0009765625] * 256, f16), y=values([1.0009765625] * 256, f16), z=values([-1.001953125] * 256, f16), BLOCK=256) -> out:f16 == [0.0] * 256
