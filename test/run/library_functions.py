# run: cpu gpu
# Functions of LLVM bitcode that a program brings along: of tiles and scalars, with addresses, halves and truths, and without arguments.
import triton
import triton.language as tl
from triton.language import core

MINE = __file__.replace("library_functions.py", "Inputs/mine.ll")


@core.extern
def mean_of(x, y, _semantic=None):
    return core.extern_elementwise("mine", MINE, [x, y], {(core.float32, core.float32): ("mean_of", core.float32)}, is_pure=True, _semantic=_semantic)


@core.extern
def step(which, _semantic=None):
    return core.extern_elementwise("mine", MINE, [which], {(core.int32, ): ("step", core.float32)}, is_pure=True, _semantic=_semantic)


@core.extern
def without_sign(x, _semantic=None):
    return core.extern_elementwise("mine", MINE, [x], {
        (core.float16, ): ("without_sign", core.float16),
        (core.bfloat16, ): ("without_sign", core.bfloat16),
    }, is_pure=True, _semantic=_semantic)


@core.extern
def is_odd(x, _semantic=None):
    return core.extern_elementwise("mine", MINE, [x], {(core.int32, ): ("is_odd", core.int1)}, is_pure=True, _semantic=_semantic)


@core.extern
def count(x, _semantic=None):
    return core.extern_elementwise("mine", MINE, [x], {(core.int1, ): ("count", core.int32)}, is_pure=True, _semantic=_semantic)


@core.extern
def at(place, index, _semantic=None):
    return core.extern_elementwise("mine", MINE, [place, index], {
        (core.pointer_type(core.float32), core.int32): ("at", core.float32),
        (core.int64, core.int32): ("at", core.float32),
    }, is_pure=True, _semantic=_semantic)


@core.extern
def answer(_semantic=None):
    return core.extern_elementwise("mine", MINE, [], {(): ("answer", core.int32)}, is_pure=True, _semantic=_semantic)


@triton.jit
def means(x, y, z, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(z + i, mean_of(tl.load(x + i), tl.load(y + i)))
    tl.store(z + N + i, mean_of(tl.load(x + i), 1))

# expect: means(x=[2, 3, 0.5, 1]:f32, y=[4, 2, 1, 5]:f32, z=zeros(8,f32), N=4) -> z == [3, 2.5, 0.75, 3, 1.5, 2, 0.75, 1]


@triton.jit
def steps(x, y, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(y + i, step(tl.load(x + i)))

# expect: steps(x=[3, 2, 1, 0, 7, 6, 5, 4]:i32, y=zeros(8,f32), N=8) -> y == [3, 2, 1, 0, 4, 4, 4, 4]


@triton.jit
def signs(x, y, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(y + i, without_sign(tl.load(x + i)))

# expect: signs(x=[-2, 3, -0.5, 1]:f16, y=zeros(4,f16), N=4) -> y == [2, 3, 0.5, 1]
# expect: signs(x=[-2, 3, -0.5, 1]:bf16, y=zeros(4,bf16), N=4) -> y == [2, 3, 0.5, 1]


@triton.jit
def truths(x, y, N: tl.constexpr):
    i = tl.arange(0, N)
    odd = is_odd(tl.load(x + i))
    tl.store(y + i, count(odd) * 10 + tl.where(odd, 1, 2))

# expect: truths(x=[3, 2, 1, 0]:i32, y=zeros(4,i32), N=4) -> y == [11, 2, 11, 2]


@triton.jit
def addresses(x, y, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(y + i, at(x, N - 1 - i))
    tl.store(y + N + i, at(x.to(tl.int64), i) + answer())

# expect: addresses(x=[2, 3, 0.5, 1]:f32, y=zeros(8,f32), N=4) -> y == [1, 0.5, 3, 2, 44, 45, 42.5, 43]
