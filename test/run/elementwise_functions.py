# run: ref cpu gpu
# The elementwise functions whose results are exact, or nearly.
import triton
import triton.language as tl


@triton.jit
def roundings(x, down, up, N: tl.constexpr):
    i = tl.arange(0, N)
    v = tl.load(x + i)
    tl.store(down + i, tl.floor(v))
    tl.store(up + i, tl.ceil(v))


@triton.jit
def roots(x, exact, inverse, N: tl.constexpr):
    i = tl.arange(0, N)
    v = tl.load(x + i)
    tl.store(exact + i, tl.sqrt_rn(v))
    tl.store(inverse + i, tl.rsqrt(v))


@triton.jit
def three(x, y, z, fused, held, N: tl.constexpr):
    i = tl.arange(0, N)
    a, b, c = tl.load(x + i), tl.load(y + i), tl.load(z + i)
    tl.store(fused + i, tl.fma(a, b, c))
    tl.store(held + i, tl.clamp(a, b, c))


@triton.jit
def quotient(x, y, q, d, N: tl.constexpr):
    i = tl.arange(0, N)
    a, b = tl.load(x + i), tl.load(y + i)
    tl.store(q + i, tl.div_rn(a, b))
    tl.store(d + i, tl.sub(a, b))


@triton.jit
def logic(x, y, both, either, N: tl.constexpr):
    i = tl.arange(0, N)
    a, b = tl.load(x + i) != 0, tl.load(y + i) != 0
    tl.store(both + i, a.logical_and(b).to(tl.int32))
    tl.store(either + i, a.logical_or(b).to(tl.int32))


@triton.jit
def branches(x, y, out, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(out + i, tl.map_elementwise(pick, tl.load(x + i), tl.load(y + i)))


@triton.jit
def pick(a, b):
    if a > b:
        r = a - b
    else:
        r = a * 10
    return r

# expect: roundings(x=[-1.5, 1.5, -0.25, inf]:f32, N=4) -> down == [-2, 1, -1, inf] and up == [-1, 2, -0.0, inf]
# expect: roots(x=[4, 2, 0.25, inf]:f32, N=4) -> exact == [2, 1.41421353816986083984375, 0.5, inf] and inverse ~= [0.5, 0.70710678, 2, 0] within 3e-7
# expect: three(x=[2, -3, 10, 0.5]:f32, y=[3, 1, 1, 0]:f32, z=[4, 2, 5, 1]:f32, N=4) -> fused == [10, -1, 15, 1] and held == [3, 1, 5, 0.5]
# expect: quotient(x=[1, -7, 1, 0]:f32, y=[3, 2, 0, 5]:f32, N=4) -> q == [0.3333333432674407958984375, -3.5, inf, 0]
#     and d == [-2, -9, 1, -5]
# expect: logic(x=[0, 0, 2, 3]:i32, y=[0, 4, 0, 5]:i32, N=4) -> both:i32 == [0, 0, 0, 1] and either:i32 == [0, 1, 1, 1]
# expect: branches(x=[5, 1, -2, 9]:i32, y=[3, 2, 4, 9]:i32, N=4) -> out:i32 == [2, 10, -20, 90]
