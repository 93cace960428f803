# run: ref cpu gpu
# Rule 17: an atomic acts once for each element.
import triton
import triton.language as tl


@triton.jit
def count(y, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.atomic_add(y + i * 0, tl.full([N], 1, tl.int32))
    tl.atomic_add(y + 1, 1)

# expect: count[3](y=zeros(2,i32), N=256) -> y == [768, 3]
# expect: count[5](y=zeros(2,i32), N=8) -> y == [40, 5]


@triton.jit
def masked(y, o, N: tl.constexpr):
    i = tl.arange(0, N)
    old = tl.atomic_add(y + i, i.to(tl.float32), mask=i % 2 == 1, sem="relaxed")
    tl.store(o + i, old, mask=i % 2 == 1)

# expect: masked(y=full(4,10,f32), o=zeros(4,f32), N=4) -> y == [10, 11, 10, 13] and o == [0, 10, 0, 10]


@triton.jit
def kinds(y, o):
    tl.store(o, tl.atomic_max(y, 7))
    tl.store(o + 1, tl.atomic_min(y + 1, -7))
    tl.store(o + 2, tl.atomic_and(y + 2, 6))
    tl.store(o + 3, tl.atomic_or(y + 3, 8))
    tl.store(o + 4, tl.atomic_xor(y + 4, 5))
    tl.store(o + 5, tl.atomic_xchg(y + 5, 42))
    tl.store(o + 6, tl.atomic_cas(y + 6, 5, 9))
    tl.store(o + 7, tl.atomic_cas(y + 7, 4, 9))

# expect: kinds(y=full(8,5,i32), o=zeros(8,i32))
#     -> y == [7, -7, 4, 13, 0, 42, 9, 5] and o == [5, 5, 5, 5, 5, 5, 5, 5]


# Floats order by their bits: -0 is below +0.
@triton.jit
def signed_zeros(low, high, by, y, N: tl.constexpr):
    i = tl.arange(0, N)
    v = tl.load(by + i)
    tl.atomic_min(low + i, v)
    tl.atomic_max(high + i, v)
    tl.store(y + i, 1 / tl.load(low + i))
    tl.store(y + N + i, 1 / tl.load(high + i))

# expect: signed_zeros(low=[0, -0.0, -1, 2]:f32, high=[0, -0.0, -1, 2]:f32, by=[-0.0, 0, -2, -4]:f32, y=zeros(8,f32), N=4) -> y == [-inf, -inf, -0.5, -0.25, inf, inf, -1, 0.5]
# expect: signed_zeros(low=[0, -0.0, -1, 2]:f64, high=[0, -0.0, -1, 2]:f64, by=[-0.0, 0, -2, -4]:f64, y=zeros(8,f64), N=4) -> y == [-inf, -inf, -0.5, -0.25, inf, inf, -1, 0.5]


@triton.jit
def poll(flag, y, expected, timeout):
    tl.store(y, tl.atomic_poll(flag, expected).to(tl.int32))
    tl.store(y + 1, tl.atomic_poll(flag, expected, sem="relaxed", scope="sys", timeout_ns=timeout).to(tl.int32))
    tl.store(y + 2, tl.atomic_poll(flag, expected + 1, timeout_ns=timeout).to(tl.int32))
    tl.store(y + 3, tl.load(flag).to(tl.int32))

# expect: poll(flag=[7]:i32, y=zeros(4,i32), expected=7, timeout=0) -> y == [1, 1, 0, 7]
# expect: poll(flag=[7]:i64, y=zeros(4,i32), expected=7, timeout=1000) -> y == [1, 1, 0, 7]
# expect: poll(flag=[-7]:i16, y=zeros(4,i32), expected=-7, timeout=5) -> y == [1, 1, 0, -7]


@triton.jit
def poll_each(flags, expected, y, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(y + i, tl.atomic_poll(flags + i, tl.load(expected + i), timeout_ns=100).to(tl.int32))
    tl.store(y + N + i, (flags + i).atomic_poll(tl.load(flags + i)).to(tl.int32))

# expect: poll_each(flags=[1, 2, 3, 4]:i32, expected=[1, 0, 3, 0]:i32, y=zeros(8,i32), N=4) -> y == [1, 0, 1, 0, 1, 1, 1, 1]


@triton.jit
def loads_and_stores(x, y, z, N: tl.constexpr):
    i = tl.arange(0, N)
    v = tl.atomic_load(x + i, mask=i > 0)
    tl.atomic_store(y + i, v + 1, mask=i < 3)
    (z + 1).atomic_store(tl.atomic_load(z, sem="relaxed", scope="sys") / 2, sem="relaxed", scope="cta")

# expect: loads_and_stores(x=[1, 2, 3, 4]:i32, y=zeros(4,i32), z=[5, 0]:f32, N=4) -> y == [1, 3, 4, 0] and z == [5, 2.5]
# expect: loads_and_stores(x=[1, 2.5, 3, 4]:f32, y=zeros(4,f32), z=[5, 0]:f64, N=4) -> y == [1, 3.5, 4, 0] and z == [5, 2.5]
# expect: loads_and_stores(x=[1, -2, 3, 4]:i64, y=zeros(4,i64), z=[5, 0]:f32, N=4) -> y == [1, -1, 4, 0] and z == [5, 2.5]


# Bytes and halves, whose neighbours in a word stay as they are.
@triton.jit
def parts_of_words(x, y, N: tl.constexpr):
    i = tl.arange(0, N)
    v = tl.atomic_load(x + i, mask=i > 0)
    tl.atomic_store(y + i * 2 + 1, v, mask=i < N - 1)
    tl.atomic_store(y, tl.atomic_load(x + 2, sem="relaxed"), sem="relaxed")

# expect: parts_of_words(x=[1, -2, 3, 4]:i8, y=values([100 + i for i in range(9)], i8), N=4) -> y == [3, 0, 102, -2, 104, 3, 106, 107, 108]
# expect: parts_of_words(x=[1, 65535, 3, 4]:u16, y=values([100 + i for i in range(9)], u16), N=4) -> y == [3, 0, 102, 65535, 104, 3, 106, 107, 108]
# expect: parts_of_words(x=[1, -2.5, 3, 4]:f16, y=values([100 + i for i in range(9)], f16), N=4) -> y == [3, 0, 102, -2.5, 104, 3, 106, 107, 108]
# expect: parts_of_words(x=[1, -2.5, 3, 4]:bf16, y=values([100 + i for i in range(9)], bf16), N=4) -> y == [3, 0, 102, -2.5, 104, 3, 106, 107, 108]
# expect: parts_of_words(x=[1, -2.5, 3, 4]:f8e5, y=values([i for i in range(9)], f8e5), N=4) -> y == [3, 0, 2, -2.5, 4, 3, 6, 7, 8]
# expect: parts_of_words(x=[1, 0, 1, 0]:i1, y=values([i % 3 == 0 for i in range(9)], i1), N=4) -> y == [1, 0, 0, 0, 0, 1, 1, 0, 0]


# Many elements change one byte or half, and the bits of others in its word.
@triton.jit
def bits_of_parts(x, olds, N: tl.constexpr):
    i = tl.arange(0, N)
    one = tl.full([N], 1, x.dtype.element_ty)
    tl.atomic_or(x + i % 3, one << (i % 7).to(x.dtype.element_ty))
    tl.atomic_and(x + 3 + i % 2, ~(one << (i % 6).to(x.dtype.element_ty)))
    tl.atomic_xor(x + 5 + i * 0, one << (i % 5).to(x.dtype.element_ty))
    tl.store(olds, tl.atomic_xchg(x + 6, tl.full([], 9, x.dtype.element_ty)))

# expect: bits_of_parts(x=[0, 0, 0, 127, 127, 0, 5, 7]:i8, olds=zeros(1,i8), N=64) -> x == [127, 127, 127, 106, 85, 15, 9, 7] and olds == [5]
# expect: bits_of_parts(x=[0, 0, 0, 127, 127, 0, 5, 7]:u16, olds=zeros(1,u16), N=64) -> x == [127, 127, 127, 106, 85, 15, 9, 7] and olds == [5]


# Each program waits for the one before.
@triton.jit
def in_order(flag, y):
    i = tl.program_id(0)
    tl.atomic_poll(flag, i)
    tl.store(y + i, i * i)
    tl.atomic_xchg(flag, i + 1, sem="release")

# expect: in_order[4](flag=zeros(1,i32), y=zeros(4,i32)) -> y == [0, 1, 4, 9]


# Programs add their rows one at a time, behind a lock; the first one finds nothing to add to.
@triton.jit
def locked(x, sums, lock, N: tl.constexpr):
    i = tl.arange(0, N)
    row = tl.load(x + tl.program_id(0) * N + i)
    while tl.atomic_cas(lock, 0, 1) == 1:
        pass
    if tl.load(lock + 1) == 0:
        tl.atomic_xchg(lock + 1, 1)
    else:
        row += tl.load(sums + i)
    tl.store(sums + i, row)
    tl.debug_barrier()
    tl.atomic_xchg(lock, 0)

# expect: locked[3](x=arange(12,f32), sums=full(4,100,f32), lock=zeros(2,i32), N=4) -> sums == [12, 15, 18, 21] and lock == [0, 1]


# Elements that lie side by side may change together, each once: from any address, under any mask.
@triton.jit
def add_rows(y, x, start, N, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.atomic_add(y + start + i, tl.load(x + i), mask=(i < N) & (i != 9), sem="relaxed")

# expect: add_rows[3](y=zeros(40,f32), x=arange(32,f32), start=0, N=30, BLOCK=32) -> y == [3 * n if n < 30 and n != 9 else 0 for n in range(40)]
# expect: add_rows[3](y=zeros(40,f32), x=arange(32,f32), start=3, N=30, BLOCK=32) -> y == [3 * (n - 3) if 3 <= n < 33 and n != 12 else 0 for n in range(40)]
# expect: add_rows[3](y=zeros(40,f16), x=arange(32,f16), start=8, N=30, BLOCK=32) -> y == [3 * (n - 8) if 8 <= n < 38 and n != 17 else 0 for n in range(40)]
# expect: add_rows[3](y=zeros(40,i64), x=arange(32,i64), start=1, N=32, BLOCK=32) -> y == [3 * (n - 1) if 1 <= n < 33 and n != 10 else 0 for n in range(40)]


@triton.jit
def extremes(y, x, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    value = tl.load(x + i)
    tl.atomic_max(y + i, value - 8)
    tl.atomic_min(y + BLOCK + i, value - 8)
    tl.atomic_xor(y + 2 * BLOCK + i, value)
    tl.atomic_xchg(y + 3 * BLOCK + i, value)

# expect: extremes(y=zeros(64,i32), x=arange(16,i32), BLOCK=16) -> y == [max(n - 8, 0) if n < 16 else min(n - 24, 0) if n < 32 else n % 16 for n in range(64)]
