# run: ref cpu gpu
# Rule 3: a number beside a tile takes the tile's type.
import triton
import triton.language as tl


@triton.jit
def add_one(x, y):
    v = tl.load(x)
    tl.static_assert((v + 1).dtype == tl.int8)
    tl.store(y, v + 1)

# expect: add_one(x=[127]:i8, y=zeros(1,i32)) -> y == [-128]


@triton.jit
def half(x, y):
    v = tl.load(x)
    tl.static_assert((v * 0.5).dtype == tl.float16)
    tl.static_assert((v + 1).dtype == tl.float16)
    tl.store(y, v * 0.5 + 1)

# expect: half(x=[3]:f16, y=zeros(1,f32)) -> y == [2.5]


# A number that was assigned is a tile with a type of its own.
@triton.jit
def assigned(x, y):
    one = 1
    tl.static_assert((tl.load(x) + one).dtype == tl.int32)
    tl.store(y, tl.load(x) + one)

# expect: assigned(x=[127]:i8, y=zeros(1,i32)) -> y == [128]


# A float beside integers makes them f32.
@triton.jit
def mixed(x, y):
    tl.static_assert((tl.load(x) * 0.5).dtype == tl.float32)
    tl.store(y, tl.load(x) * 0.5)

# expect: mixed(x=[3]:i64, y=zeros(1,f32)) -> y == [1.5]
