# run: ref cpu gpu
# Functions that move elements and compute none.
import triton
import triton.language as tl


@triton.jit
def axes(x, y, N: tl.constexpr):
    i = tl.arange(0, N)
    v = tl.load(x + i)
    rows = tl.expand_dims(v, 1)
    tl.static_assert(rows.shape == (N, 1))
    columns = tl.unsqueeze(v, 0)
    a, b = tl.broadcast(rows, columns)
    tl.static_assert(a.shape == (N, N))
    tl.store(y + tl.ravel(tl.expand_dims(i, 1) * N + i[None, :]), tl.ravel(a * 10 + b))
    # Into the shape of a scalar a dimension goes wherever it is named.
    tl.static_assert((tl.program_id(0) < N)[:, None].shape == (1,))


@triton.jit
def views(x, y, z, N: tl.constexpr):
    i = tl.arange(0, 2 * N)
    v = tl.load(x + i)
    m = tl.view(v, (2, N))
    tl.store(y + i, tl.ravel(tl.trans(m)))
    one = tl.squeeze(tl.sum(m, axis=1, keep_dims=True), 1)
    tl.static_assert(one.shape == (2,))
    tl.store(z + tl.arange(0, 2), one)


@triton.jit
def pairs(x, y, joined, mixed, N: tl.constexpr):
    i = tl.arange(0, N)
    a, b = tl.load(x + i), tl.load(y + i)
    j = tl.arange(0, 2 * N)
    tl.store(mixed + j, tl.interleave(a, b))
    c = tl.sort(tl.cat(a, b, can_reorder=True))
    tl.store(joined + j, c)


@triton.jit
def rows_and_columns(x, y, below, beside, scalar, M: tl.constexpr, N: tl.constexpr):
    i = tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]
    a, b = tl.load(x + i), tl.load(y + i)
    c = tl.cat(a, b, dim=0)
    tl.store(below + tl.arange(0, 2 * M)[:, None] * N + tl.arange(0, N)[None, :], c)
    d = tl.cat(a, b, dim=-1)
    tl.store(beside + tl.arange(0, M)[:, None] * 2 * N + tl.arange(0, 2 * N)[None, :], d)
    tl.store(scalar, tl.sum(a)[:])


@triton.jit
def one(x, y):
    v = tl.load(x + tl.arange(0, 1))
    tl.store(y, v.item() + 1)


@triton.jit
def blank(x, y, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(y + i, tl.zeros_like(tl.load(x + i)) + 2)

# expect: axes(x=[0, 1]:i32, N=2) -> y:i32 == [0, 1, 10, 11]
# expect: views(x=iota(8), N=4) -> y == [0, 4, 1, 5, 2, 6, 3, 7] and z == [6, 22]
# expect: pairs(x=[1, 2, 3, 4]:i32, y=[8, 7, 6, 5]:i32, N=4) -> mixed:i32 == [1, 8, 2, 7, 3, 6, 4, 5]
#     and joined:i32 == [1, 2, 3, 4, 5, 6, 7, 8]
# expect: rows_and_columns(x=[1, 2, 3, 4]:i32, y=[5, 6, 7, 8]:i32, M=2, N=2) -> below:i32 == [1, 2, 3, 4, 5, 6, 7, 8]
#     and beside:i32 == [1, 2, 5, 6, 3, 4, 7, 8] and scalar:i32 == [10]
# expect: one(x=[41]:i32) -> y:i32 == [42]
# expect: blank(x=[7, 8]:i16, N=2) -> y:i16 == [2, 2]


@triton.jit
def scalar_pairs(x, a, b, joined, low, high, mixed):
    pair = tl.join(tl.load(x), tl.load(x + 1))
    tl.store(joined + tl.arange(0, 2), pair)
    first, second = tl.split(tl.load(x + tl.arange(0, 2)))
    tl.store(low, first)
    tl.store(high, second)
    tl.store(mixed + tl.arange(0, 2), tl.interleave(a, b))

# expect: scalar_pairs(x=[42, 100]:i32, a=10, b=20, joined=zeros(2,i32), low=zeros(1,i32), high=zeros(1,i32), mixed=zeros(2,i32))
#     -> joined == [42, 100] and low == [42] and high == [100] and mixed == [10, 20]
