# run: ref cpu gpu
# Places within a vector of the first: of an image that is made larger, of a table, backwards, one, and further apart.
import triton
import triton.language as tl


@triton.jit
def larger(x, y, n, width, scale, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    at = tl.minimum((i.to(tl.float32) * scale).to(tl.int32), width - 1)
    tl.store(y + i, tl.load(x + at, mask=i < n, other=-1), mask=i < n)

# expect: larger[2](x=arange(300,f32), y=zeros(256,f32), n=250, width=120, scale=0.5, B=128) -> y == [min(i // 2, 119) if i < 250 else 0 for i in range(256)]
# expect: larger[2](x=arange(300,i32), y=zeros(256,i32), n=256, width=300, scale=0.75, B=128) -> y == [i * 3 // 4 for i in range(256)]
# expect: larger[2](x=arange(300,f32), y=zeros(256,f32), n=256, width=300, scale=1.125, B=128) -> y == [i * 9 // 8 for i in range(256)]
# expect: larger[2](x=arange(300,bf16), y=zeros(256,bf16), n=256, width=300, scale=0.25, B=128) -> y == [i // 4 for i in range(256)]
# expect: larger[2](x=arange(300,f64), y=zeros(256,f64), n=256, width=300, scale=0.5, B=128) -> y == [i // 2 for i in range(256)]


@triton.jit
def looked_up(index, x, y, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    at = tl.load(index + i, mask=i < n, other=0)
    tl.store(y + i, tl.load(x + at, mask=i < n, other=-1), mask=i < n)

# Up to 15 behind the first, in any order; one more; before it; all at the end of the memory.
# expect: looked_up[2](index=[i // 16 * 16 + i * 7 % 16 for i in range(256)]:i32, x=arange(300,f32), y=zeros(256,f32), n=256, B=128) -> y == [i // 16 * 16 + i * 7 % 16 for i in range(256)]
# expect: looked_up[2](index=[i // 8 * 8 + i * 3 % 8 for i in range(256)]:i64, x=arange(300,i32), y=zeros(256,i32), n=200, B=128) -> y == [i // 8 * 8 + i * 3 % 8 if i < 200 else 0 for i in range(256)]
# expect: looked_up[2](index=[i // 8 * 9 + i % 8 * 9 % 17 for i in range(256)]:i32, x=arange(400,f32), y=zeros(256,f32), n=256, B=128) -> y == [i // 8 * 9 + i % 8 * 9 % 17 for i in range(256)]
# expect: looked_up[2](index=[255 - i for i in range(256)]:i32, x=arange(256,f32), y=zeros(256,f32), n=256, B=128) -> y == [255 - i for i in range(256)]
# expect: looked_up[2](index=[i // 64 * 5 for i in range(256)]:i32, x=arange(16,f32), y=zeros(256,f32), n=256, B=128) -> y == [i // 64 * 5 for i in range(256)]


# What a mask of data lets through is stored as it is where that is all of a vector.
@triton.jit
def kept(x, y, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    v = tl.load(x + i, mask=i < n, other=0)
    tl.store(y + i, v + 1, mask=(v != 40) & (v != 41) & (i < n))

# expect: kept[2](x=arange(256,f32), y=zeros(256,f32), n=250, B=128) -> y == [i + 1 if i < 250 and i not in (40, 41) else 0 for i in range(256)]
# expect: kept[2](x=arange(256,bf16), y=zeros(256,bf16), n=250, B=128) -> y == [i + 1 if i < 250 and i not in (40, 41) else 0 for i in range(256)]
# expect: kept[2](x=arange(256,i32), y=zeros(256,i8), n=100, B=128) -> y == [i + 1 if i < 100 and i not in (40, 41) else 0 for i in range(256)]
