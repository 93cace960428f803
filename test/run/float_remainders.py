# run: ref cpu
# What is left of a division of floats is exact and has the sign of what was divided, also where the quotient has more digits
# than the type; of infinity, and by 0, it is NaN.
import triton
import triton.language as tl


@triton.jit
def remainder(x, y, z, B: tl.constexpr):
    i = tl.arange(0, B)
    tl.store(z + i, tl.load(x + i) % tl.load(y + i))

# expect: remainder(x=values([(n - 128) * 0.375 for n in range(256)], f32), y=values([1.25 + n % 7 * 0.5 for n in range(256)], f32), z=zeros(256,f32), B=256) -> z == [math.fmod((n - 128) * 0.375, 1.25 + n % 7 * 0.5) for n in range(256)]
# expect: remainder(x=values([2.0 ** (n % 60) for n in range(256)], f32), y=values([3.0 - 6 * (n % 2) for n in range(256)], f32), z=zeros(256,f32), B=256) -> z == [1 + n % 60 % 2 for n in range(256)]
# expect: remainder(x=values([-0.0, 0.0, -6.0, 6.0, -7.5, 7.5, 5.0, -5.0], f32), y=values([2.0, 2.0, 3.0, -3.0, 2.0, -2.0, inf, inf], f32), z=zeros(8,f32), B=8) -> z == [-0.0, 0.0, -0.0, 0.0, -1.5, 1.5, 5.0, -5.0]
# expect: remainder(x=values([inf, -inf, nan, 1.0, 0.0, 1.0, 2.0, 3.0], f32), y=values([1.0, 2.0, 1.0, 0.0, 0.0, nan, 4.0, 2.0], f32), z=zeros(8,f32), B=8) -> z == [nan, nan, nan, nan, nan, nan, 2.0, 1.0]
# The least denormals, and the quotient that is nearest to a whole number of 27 bits.
# expect: remainder(x=values([2.0 ** -149 * n for n in range(64)], f32), y=values([2.0 ** -149 * (n % 5 + 1) for n in range(64)], f32), z=zeros(64,f32), B=64) -> z == [2.0 ** -149 * (n % (n % 5 + 1)) for n in range(64)]
# expect: remainder(x=values([16777215.0 * 8] * 16, f32), y=values([16777213.0 / 2 ** 23] * 16, f32), z=zeros(16,f32), B=16) -> z == [math.fmod(16777215.0 * 8, 16777213.0 / 2 ** 23)] * 16
