# run: ref cpu gpu
# Hints change no result, and types have the names and properties of Triton's.
import triton
import triton.language as tl


@triton.jit
def hinted(x, y, n, B: tl.constexpr):
    tl.assume(n > 0)
    i = tl.program_id(0) * B + tl.arange(0, B)
    i = tl.max_contiguous(tl.multiple_of(i, B), B)
    mask = tl.max_constancy(i < n, 1)
    tl.store(y + i, tl.load(x + i, mask=mask, other=0) + 1, mask=mask)


@triton.jit
def loops(x, y, n):
    i = 0
    s = tl.load(x) * 0
    while tl.condition(i < n):
        s += tl.load(x + i)
        i += 1
    tl.store(y, s)


@triton.jit
def hinted_in_loops(x, y, n, B: tl.constexpr):
    at = 0
    while at < n:
        p = x + at + tl.arange(0, B)
        s = tl.zeros([B], dtype=tl.float32)
        for _ in range(0, 2):
            tl.multiple_of(p, B)
            s += tl.load(p)
            p += B
        tl.store(y + at // 2 + tl.arange(0, B), s)
        at += 2 * B


@triton.jit
def narrow(x, y, z, N: tl.constexpr):
    i = tl.arange(0, N)
    v = tl.load(x + i)
    tl.store(y + i, v.to(tl.int16).to(tl.float32))
    tl.store(z + i, v.to(tl.uint8).to(tl.int32))


@triton.jit
def known(p: tl.const, y):
    tl.static_assert(tl.TRITON_MAX_TENSOR_NUMEL == 1048576)
    tl.static_assert(tl.core.CONSTEXPR_0 == 0)
    tl.static_assert(tl.get_int_dtype(16, True) == tl.int16)
    tl.static_assert(tl._is_power_of_two(64))
    pair = tl.tuple((1, 2))
    tl.store(y, tl.load(p) + pair[1])


# A function of the language stays itself.
integer_type = triton.runtime.jit.constexpr_function(tl.core.get_int_dtype)


@triton.jit
def bits(x, y):
    tl.store(y, tl.load(x).to(integer_type(bitwidth=x.dtype.element_ty.primitive_bitwidth, signed=True), bitcast=True))


# PyTorch's scans over blocks take what they pack a value in from a constexpr.
@triton.jit
def packed(x, y, TYPE: tl.constexpr):
    TYPE = tl.core._unwrap_if_constexpr(TYPE)
    tl.store(y, (tl.load(x).to(TYPE) << TYPE.primitive_bitwidth // 2) | 1)


# `tl.cdiv` of constexprs is a tile that the annotation makes a number again.
@triton.jit
def annotated(y, N: tl.constexpr, B: tl.constexpr):
    COUNT: tl.constexpr = tl.cdiv(N, B)
    tl.store(y + tl.program_id(0) % COUNT, COUNT)

# As Triton 3.9 spells what caches shall do.
@triton.jit
def cached(x, y):
    tl.store(y, tl.load(x, cache_modifier="cg") + tl.load(x + 1, cache_modifier="none", eviction_policy="evict_normal"), cache_modifier="wt")

# expect: cached(x=[1, 2]:f32) -> y:f32 == [3]
# expect: hinted[2](x=iota(6), n=6, B=4) -> y == [1, 2, 3, 4, 5, 6]
# expect: loops(x=[1, 2, 3]:f32, n=3) -> y == [6]
# expect: hinted_in_loops(x=[0, 1, 2, 3, 4, 5, 6, 7]:f32, n=8, B=2) -> y == [2, 4, 10, 12]
# expect: narrow(x=[-3.5, 200, 7]:f32, N=1) -> y == [-3] and z:i32 == [0]
# expect: known(p=[40]:i32) -> y:i32 == [42]
# expect: annotated[5](N=100, B=32) -> y:i32 == [4, 4, 4, 4]
# expect: bits(x=[1]:f32) -> y:i32 == [1065353216]
# expect: packed(x=[5]:i32, TYPE=tl.uint64) -> y:i64 == [21474836481]
