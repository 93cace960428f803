# run: ref cpu gpu
# What a counting number is split into by divisions stays, or counts, until a multiple of the divisor: rows go in such runs.
import triton
import triton.language as tl


@triton.jit
def repeated(x, y, n, columns, rows_of_x, columns_of_x, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    row = i // columns
    column = i % columns
    v = tl.load(x + (row % rows_of_x) * columns_of_x + column % columns_of_x, mask=i < n)
    tl.store(y + row * columns + column, v, mask=i < n)

# Runs of 1, of less than a vector, of some vectors and a rest, of more than the tile.
# expect: repeated[3](x=iota(1), n=600, columns=1, rows_of_x=1, columns_of_x=1, B=256) -> y == [0 for i in range(600)]
# expect: repeated[3](x=iota(35), n=600, columns=10, rows_of_x=7, columns_of_x=5, B=256) -> y == [i // 10 % 7 * 5 + i % 5 for i in range(600)]
# expect: repeated[2](x=iota(500), n=1800, columns=200, rows_of_x=5, columns_of_x=100, B=1024) -> y == [i // 200 % 5 * 100 + i % 100 for i in range(1800)]
# expect: repeated[2](x=iota(3000), n=1800, columns=3000, rows_of_x=1, columns_of_x=3000, B=1024) -> y == [i for i in range(1800)]


# Numbers below zero are split towards it; a divisor below zero makes no runs, 0 gives -1 and the number itself.
@triton.jit
def signs(q, r, first, d, B: tl.constexpr):
    i = tl.arange(0, B)
    n = first + i
    tl.store(q + i, n // d)
    tl.store(r + i, n % d)

# expect: signs(first=-200, d=70, B=512) -> q:i32 == [int((i - 200) / 70) for i in range(512)] and r:i32 == [i - 200 - int((i - 200) / 70) * 70 for i in range(512)]
# expect: signs(first=3, d=-70, B=512) -> q:i32 == [-((i + 3) // 70) for i in range(512)] and r:i32 == [(i + 3) % 70 for i in range(512)]


@triton.jit
def padded(x, y, n, width, low, high, B: tl.constexpr):
    i = tl.arange(0, B)
    row = i // width
    column = i - row * width
    inside = (column >= low) & (high > column) & (column != 90)
    at = row * (high - low) + column - low
    tl.store(y + i, tl.load(x + at, mask=inside, other=-1), mask=i < n)

# expect: padded(x=iota(1000), n=500, width=100, low=3, high=97, B=512) -> y == [i // 100 * 94 + i % 100 - 3 if 3 <= i % 100 < 97 and i % 100 != 90 else -1 for i in range(500)]
# expect: padded(x=iota(1000), n=512, width=300, low=0, high=300, B=512) -> y == [i if i % 300 != 90 else -1 for i in range(512)]


# One program may overwrite what its other elements read.
@triton.jit
def shifted(x, n, width, B: tl.constexpr):
    i = tl.arange(0, B)
    v = tl.load(x + i // width * width + i % width)
    tl.store(x + (i // width * width + i % width + 7), v)

# expect: shifted(x=iota(300), n=256, width=100, B=256) -> x == [i if i < 7 or i >= 263 else i - 7 for i in range(300)]


@triton.jit
def added(index, source, sums, n, width, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    inside = i < n
    row = tl.load(index + i // width, mask=inside, other=0)
    old = tl.atomic_add(sums + row * width + i % width, tl.load(source + i, mask=inside), mask=inside)

# expect: added[2](index=[2, 0, 2, 1]:i32, source=ones(400,i32), sums=zeros(300,i32), n=400, width=100, B=256)
#     -> sums == [1 if i < 200 else 2 for i in range(300)]


@triton.jit
def added_with_olds(index, sums, olds, n, B: tl.constexpr):
    i = tl.arange(0, B)
    inside = i < n
    at = tl.load(index + i, mask=inside, other=0)
    old = tl.atomic_add(sums + at, i + 1, mask=inside)
    tl.store(olds + i, old, mask=inside)

# expect: added_with_olds(index=iota(100,i32), sums=zeros(100,i32), n=100, B=128) -> sums == [i + 1 for i in range(100)] and olds:i32 == [0 for i in range(100)]


# The element's own numbers decide where it reads and what: a comparison changes within a run.
@triton.jit
def wrapped(x, y, rows, columns, shift, R: tl.constexpr, C: tl.constexpr):
    i = tl.arange(0, R)[:, None]
    j = tl.arange(0, C)[None, :]
    from_column = (j + shift) % columns
    from_row = i // 3
    v = tl.load(x + from_row * columns + from_column, mask=j < columns)
    tl.store(y + i * columns + j, v, mask=(i < rows) & (j < columns))

# expect: wrapped(x=iota(300), rows=8, columns=100, shift=13, R=8, C=128) -> y == [i // 100 // 3 * 100 + (i % 100 + 13) % 100 for i in range(800)]


@triton.jit
def looked_up(index, x, y, n, width, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    row = i // width
    column = i % width
    at = tl.load(index + row * width + column, mask=i < n, other=0)
    tl.store(y + row * width + column, tl.load(x + at * width + column, mask=i < n), mask=i < n)

# Ends of runs in the middle of the mask, at its border and behind it.
# expect: looked_up[2](index=[(i * 7) % 3 for i in range(600)]:i32, x=iota(3x100), y=zeros(600,f32), n=555, width=100, B=512)
#     -> y == [(i * 7) % 3 * 100 + i % 100 if i < 555 else 0 for i in range(600)]
# expect: looked_up(index=[(i * 7) % 3 for i in range(512)]:i32, x=iota(3x250), y=zeros(512,f32), n=252, width=250, B=512)
#     -> y == [(i * 7) % 3 * 250 + i % 250 if i < 252 else 0 for i in range(512)]
# expect: looked_up(index=[(i * 7) % 3 for i in range(512)]:i32, x=iota(3x16), y=zeros(512,f32), n=500, width=16, B=512)
#     -> y == [(i * 7) % 3 * 16 + i % 16 if i < 500 else 0 for i in range(512)]
