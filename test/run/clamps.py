# run: ref cpu gpu
# A number between two bounds, which may be each other's negatives, elements of a tile or one number for all.
import triton
import triton.language as tl


@triton.jit
def clamp(x, y, z, N: tl.constexpr):
    i = tl.arange(0, N)
    a, b = tl.load(x + i), tl.load(y + i)
    tl.store(z + i, tl.clamp(a, -b, b))
    tl.store(z + N + i, tl.clamp(a, -2.5, 2.5))
    tl.store(z + 2 * N + i, tl.clamp(a, -2.5, 1.0))
    tl.store(z + 3 * N + i, tl.abs(tl.clamp(a, -tl.load(y), tl.load(y))))

# expect: clamp(x=[-3.0, 3.0, -1.0, 1.0, inf, -inf, 0.0, 2.5]:f32, y=[2.0, 2.0, 2.0, 0.5, 7.0, 7.0, 1.0, 2.5]:f32, z=zeros(32,f32), N=8)
#     -> z == [-2.0, 2.0, -1.0, 0.5, 7.0, -7.0, 0.0, 2.5, -2.5, 2.5, -1.0, 1.0, 2.5, -2.5, 0.0, 2.5, -2.5, 1.0, -1.0, 1.0, 1.0, -2.5, 0.0, 1.0, 2.0, 2.0, 1.0, 1.0, 2.0, 2.0, 0.0, 2.0]


# Sizes of halves, also of numbers that have no other.
@triton.jit
def sizes(x, y, N: tl.constexpr):
    i = tl.arange(0, N)
    a = tl.abs(tl.load(x + i))
    tl.store(y + i, a)
    tl.store(y + N, tl.max(a))

# expect: sizes(x=[-3.0, 3.0, -1.0, 1.0, 0.5, -inf, 0.0, -2.5]:bf16, y=zeros(9,bf16), N=8) -> y == [3.0, 3.0, 1.0, 1.0, 0.5, inf, 0.0, 2.5, inf]
# expect: sizes(x=[-3.0, 3.0, -1.0, 1.0, 0.5, -inf, 0.0, -2.5]:f16, y=zeros(9,f16), N=8) -> y == [3.0, 3.0, 1.0, 1.0, 0.5, inf, 0.0, 2.5, inf]
