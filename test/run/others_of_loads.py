# run: ref cpu gpu
# What a mask leaves out: numbers of a tile, one choice for all of them, and what nobody sees.
import triton
import triton.language as tl


# The choice of a flag is made on whole words of halves, bytes and 64 bits alike.
@triton.jit
def chosen(x, z, y, N, flag, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    other = tl.where(flag > 0, tl.load(z + at), tl.full([BLOCK], 3, z.dtype.element_ty))
    tl.store(y + at, tl.load(x + at, mask=at < N, other=other))

# expect: chosen(x=iota(256,f16), z=values([-i for i in range(256)], f16), N=128, flag=1, BLOCK=256) -> y:f16 == [i if i < 128 else -i for i in range(256)]
# expect: chosen(x=iota(256,f16), z=values([-i for i in range(256)], f16), N=101, flag=0, BLOCK=256) -> y:f16 == [i if i < 101 else 3 for i in range(256)]
# expect: chosen(x=iota(128,i8), z=values([-i for i in range(128)], i8), N=64, flag=1, BLOCK=128) -> y:i8 == [i if i < 64 else -i for i in range(128)]
# expect: chosen(x=iota(128,i8), z=values([-i for i in range(128)], i8), N=48, flag=0, BLOCK=128) -> y:i8 == [i if i < 48 else 3 for i in range(128)]
# expect: chosen(x=iota(128,i64), z=values([-i for i in range(128)], i64), N=50, flag=1, BLOCK=128) -> y:i64 == [i if i < 50 else -i for i in range(128)]


# Aligned, so that one predicate is for sixteen bytes.
@triton.jit
def halves(x, z, y, N, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(y + at, tl.load(x + at, mask=at < N * 16, other=tl.load(z + at)))

# expect: halves(x=iota(256,f16), z=values([-i for i in range(256)], f16), N=5, BLOCK=256) -> y:f16 == [i if i < 80 else -i for i in range(256)]
# expect: halves(x=iota(256,f32), z=values([-i for i in range(256)], f32), N=3, BLOCK=256) -> y:f32 == [i if i < 48 else -i for i in range(256)]


# The store has the load's mask, the second one none: there a number is seen.
@triton.jit
def unseen(x, y, N, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    inside = at < N
    tl.store(y + at, tl.exp(tl.load(x + at, mask=inside) * 0.0) + tl.load(x + at, mask=inside, other=5.0), mask=inside)

@triton.jit
def seen(x, y, z, N, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    inside = at < N
    value = tl.load(x + at, mask=inside, other=5.0)
    tl.store(y + at, value + 1.0, mask=inside)
    tl.store(z + at, tl.where(inside, value, 7.0) + tl.where(at < 2 * N, value, 0.0))

# expect: unseen(x=iota(256,f32), y=zeros(256,f32), N=100, BLOCK=256) -> y == [i + 1 if i < 100 else 0 for i in range(256)]
# expect: seen(x=iota(256,f32), y=zeros(256,f32), N=100, BLOCK=256) -> y == [i + 1 if i < 100 else 0 for i in range(256)] and
#     z:f32 == [2 * i if i < 100 else 12 if i < 200 else 7 for i in range(256)]
