# run: ref cpu gpu
# A grid of one program runs on one thread, larger ones on as many as there are: atomics agree, whatever the
# lanes stand on.
import triton
import triton.language as tl


@triton.jit
def rows(y, x, n, N: tl.constexpr):
    i = tl.program_id(0) * N + tl.arange(0, N)
    tl.atomic_add(y + i, tl.load(x + i, mask=i < n), mask=i < n)

# expect: rows(y=iota(40,f32), x=iota(40,f32), n=37, N=64) -> y == [2 * i if i < 37 else i for i in range(40)]
# expect: rows[10](y=iota(40,f32), x=iota(40,f32), n=37, N=4) -> y == [2 * i if i < 37 else i for i in range(40)]
# expect: rows(y=iota(40,bf16), x=iota(40,bf16), n=37, N=64) -> y == [2 * i if i < 37 else i for i in range(40)]
# expect: rows(y=iota(40,f16), x=iota(40,f16), n=37, N=64) -> y == [2 * i if i < 37 else i for i in range(40)]
# expect: rows(y=iota(40,i64), x=iota(40,i64), n=37, N=64) -> y == [2 * i if i < 37 else i for i in range(40)]


@triton.jit
def counts(y, x, N: tl.constexpr):
    i = tl.program_id(0) * N + tl.arange(0, N)
    tl.atomic_add(y + tl.load(x + i), 1, sem="relaxed")

# expect: counts(y=zeros(4,i32), x=[3, 1, 3, 3, 0, 1, 3, 0, 3, 3, 3, 3, 3, 3, 3, 3]:i32, N=16) -> y == [2, 2, 0, 12]
# expect: counts[4](y=zeros(4,i32), x=[3, 1, 3, 3, 0, 1, 3, 0, 3, 3, 3, 3, 3, 3, 3, 3]:i32, N=4) -> y == [2, 2, 0, 12]


@triton.jit
def kinds(high, low, bits, x, N: tl.constexpr):
    i = tl.arange(0, N)
    v = tl.load(x + i)
    tl.atomic_max(high + i, v)
    tl.atomic_min(low + i, v)
    tl.atomic_xor(bits + i, v)

# expect: kinds(high=full(8,3,i32), low=full(8,3,i32), bits=full(8,3,i32), x=iota(8,i32), N=8)
#     -> high == [3, 3, 3, 3, 4, 5, 6, 7] and low == [0, 1, 2, 3, 3, 3, 3, 3]
#     and bits == [3, 2, 1, 0, 7, 6, 5, 4]


# A program that changes what it reads again.
@triton.jit
def again(y, N: tl.constexpr):
    i = tl.arange(0, N)
    for step in range(3):
        tl.atomic_add(y + i, tl.load(y + N - 1 - i), scope="sys")
        tl.atomic_add(y + i, 1)

# expect: again(y=full(32,1,i32), N=32) -> y == [15 for i in range(32)]


# Rows that an index tells: runs of lanes end where a row does, and where the mask of the index does.
@triton.jit
def by_index(y, x, index, n, limit, columns, apart, N: tl.constexpr):
    i = tl.program_id(0) * N + tl.arange(0, N)
    row, column = i // columns, i % columns
    at = tl.load(index + row, mask=i < n, other=0) * apart + column
    tl.atomic_add(y + at, tl.load(x + i, mask=i < n, other=0), mask=at < limit)

# expect: by_index[2](y=zeros(3x48,f32), x=iota(120,f32), index=[2, 0, 2]:i32, n=100, limit=144, columns=40, apart=48, N=64)
#     -> y == [[sum(i for i in range(100) if i % 40 == c and [2, 0, 2][i // 40] == r) for c in range(48)] for r in range(3)]
# expect: by_index(y=zeros(3x48,f32), x=iota(120,f32), index=[2, 0, 2]:i32, n=120, limit=120, columns=40, apart=48, N=128)
#     -> y == [[sum(i for i in range(120) if i % 40 == c and [2, 0, 2][i // 40] == r and r * 48 + c < 120) for c in range(48)] for r in range(3)]
