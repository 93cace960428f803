# run: ref cpu gpu
# Tiles that are split in halves along a dimension of two and put together again: on a CPU each element finds its halves by the
# bits of its number.
import triton
import triton.language as tl


@triton.jit
def half(x, which: tl.constexpr, A: tl.constexpr, B: tl.constexpr):
    # Of each pair of elements that are B apart, one in both places; a sum with zero, as some sorts have it.
    pairs = tl.reshape(x, [A, 2, B])
    one = tl.where(tl.arange(0, 2)[None, :, None] == which, pairs, 0)
    return tl.reshape(tl.broadcast_to(tl.sum(one, 1)[:, None, :], [A, 2, B]), x.shape)


@triton.jit
def by_sums(x, low, high, N: tl.constexpr, B: tl.constexpr):
    i = tl.arange(0, N)
    v = tl.load(x + i)
    tl.store(low + i, half(v, 0, N // (2 * B), B))
    tl.store(high + i, half(v, 1, N // (2 * B), B))


@triton.jit
def sorted_with_index(x, y, index, n: tl.constexpr):
    i = tl.arange(0, 1 << n)
    v = tl.load(x + i)
    for stage in tl.static_range(1, n + 1):
        for step in tl.static_range(stage):
            B: tl.constexpr = 1 << (stage - 1 - step)
            A: tl.constexpr = (1 << n) // (2 * B)
            l, r = half(v, 0, A, B), half(v, 1, A, B)
            il, ir = half(i, 0, A, B), half(i, 1, A, B)
            is_right = (tl.arange(0, 1 << n) // B % 2) != 0
            falls = (tl.arange(0, 1 << n) >> stage) % 2 != 0
            swap = ((l > r) != falls) != is_right
            v, i = tl.where(swap, r, l), tl.where(swap, ir, il)
    tl.store(y + tl.arange(0, 1 << n), v)
    tl.store(index + tl.arange(0, 1 << n), i)


@triton.jit
def butterfly(x, y, M: tl.constexpr, N: tl.constexpr, B: tl.constexpr):
    # (a, b) becomes (a - b, 2 a + b), in each row.
    at = tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]
    a, b = tl.split(tl.trans(tl.reshape(tl.load(x + at), [M, N // (2 * B), 2, B]), 0, 1, 3, 2))
    both = tl.trans(tl.join(a - b, 2 * a + b), 0, 1, 3, 2)
    tl.store(y + at, tl.reshape(both, [M, N]))


@triton.jit
def greatest_pairs(x, y, where, N: tl.constexpr, B: tl.constexpr):
    # Several values through one reduction.
    i = tl.arange(0, N)
    pairs = tl.reshape(tl.load(x + i), [N // (2 * B), 2, B])
    value, index = tl.max(pairs, 1, return_indices=True, keep_dims=True)
    tl.store(y + i, tl.reshape(tl.broadcast_to(value, [N // (2 * B), 2, B]), [N]))
    tl.store(where + i, tl.reshape(tl.broadcast_to(index, [N // (2 * B), 2, B]), [N]))


@triton.jit
def taken(x, y, M: tl.constexpr, N: tl.constexpr, KEEP: tl.constexpr, FLIP: tl.constexpr):
    at = tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]
    index = tl.broadcast_to(((tl.arange(0, N) & KEEP) ^ FLIP)[None, :], [M, N])
    tl.store(y + at, tl.gather(tl.load(x + at) * 3, index, 1) + 1)


@triton.jit
def turned(x, y, N: tl.constexpr, FLIP: tl.constexpr):
    # The rows of the result are the columns of what is exchanged.
    at = tl.arange(0, N)[:, None] * N + tl.arange(0, N)[None, :]
    index = tl.broadcast_to((tl.arange(0, N) ^ FLIP)[None, :], [N, N])
    once = tl.gather(tl.load(x + at), index, 1)
    tl.store(y + tl.trans(at), tl.gather(once * 2, index ^ 1, 1))


@triton.jit
def reshaped_row(x, y, N: tl.constexpr):
    v = tl.reshape(tl.load(x + tl.arange(0, N)), [1, N, 1])
    tl.store(y + tl.arange(0, N), tl.reshape(v * 2, [N]))



@triton.jit
def merged(x, y, n: tl.constexpr, steps: tl.constexpr):
    # Steps of a merge on a tile of dimensions of two, where an element finds its other half by bits of both.
    i = tl.arange(0, 1 << n)
    h = tl.reshape(tl.load(x + i), [2] * n)
    for step in tl.static_range(steps):
        axis: tl.constexpr = n - steps + step
        bits = h.to(tl.int32, bitcast=True)
        other = (bits ^ tl.xor_sum(bits, axis, True)).to(tl.float32, bitcast=True)
        is_right = tl.reshape(tl.arange(0, 2), [1] * axis + [2] + [1] * (n - axis - 1))
        h = tl.where((h > other) != is_right, other, h)
    tl.store(y + i, tl.reshape(h, [1 << n]))

# expect: by_sums(x=[-0.0, inf, nan, 1.5, 2, 3, -inf, 5]:f32, N=8, B=1) -> low == [0.0, 0.0, nan, nan, 2, 2, -inf, -inf]
#     and high == [inf, inf, 1.5, 1.5, 3, 3, 5, 5]
# expect: by_sums(x=iota(128,i32), N=128, B=32) -> low:i32 == [i - i // 32 % 2 * 32 for i in range(128)]
#     and high:i32 == [i + 32 - i // 32 % 2 * 32 for i in range(128)]
# expect: by_sums(x=iota(256,i64), N=256, B=4) -> low:i64 == [i - i // 4 % 2 * 4 for i in range(256)]
#     and high:i64 == [i + 4 - i // 4 % 2 * 4 for i in range(256)]
# expect: by_sums(x=iota(64,i8), N=64, B=16) -> low:i32 == [i - i // 16 % 2 * 16 for i in range(64)]
#     and high:i32 == [i + 16 - i // 16 % 2 * 16 for i in range(64)]
# expect: sorted_with_index(x=iota(8), n=3) -> y == [0, 1, 2, 3, 4, 5, 6, 7] and index:i32 == [0, 1, 2, 3, 4, 5, 6, 7]
# expect: sorted_with_index(x=[3, 1, 2, 0]:f32, n=2) -> y == [0, 1, 2, 3] and index:i32 == [3, 1, 2, 0]
# expect: sorted_with_index(x=[i * 37 % 128 for i in range(128)]:f32, n=7) -> y == [i for i in range(128)]
#     and index:i32 == [i * 45 % 128 for i in range(128)]
# expect: sorted_with_index(x=[i * 37 % 256 for i in range(256)]:bf16, n=8) -> y == [i for i in range(256)]
#     and index:i32 == [i * 173 % 256 for i in range(256)]
# expect: butterfly(x=iota(8), M=1, N=8, B=1) -> y == [-1, 1, -1, 7, -1, 13, -1, 19]
# expect: butterfly(x=iota(4x64), M=4, N=64, B=8) -> y:f32 == [[[-8, 3 * (64 * r + c) - 16][c // 8 % 2] for c in range(64)] for r in range(4)]
# expect: butterfly(x=iota(2x128), M=2, N=128, B=64) -> y:f32 == [[[-64, 3 * (128 * r + c) - 128][c // 64 % 2] for c in range(128)] for r in range(2)]
# expect: greatest_pairs(x=[1, 5, 7, 2, 3, 3, nan, 1]:f32, N=8, B=1) -> y == [5, 5, 7, 7, 3, 3, 1, 1]
#     and where:i32 == [1, 1, 0, 0, 0, 0, 1, 1]
# expect: greatest_pairs(x=iota(64), N=64, B=2) -> y == [i | 2 for i in range(64)] and where:i32 == [1 for i in range(64)]
# expect: taken(x=iota(2x8), M=2, N=8, KEEP=7, FLIP=3) -> y == [[3 * (8 * r + (c ^ 3)) + 1 for c in range(8)] for r in range(2)]
# expect: taken(x=iota(2x128), M=2, N=128, KEEP=117, FLIP=68) -> y == [[3 * (128 * r + ((c & 117) ^ 68)) + 1 for c in range(128)] for r in range(2)]
# expect: taken(x=iota(1x256), M=1, N=256, KEEP=250, FLIP=7) -> y == [[3 * ((c & 250) ^ 7) + 1 for c in range(256)]]
# expect: turned(x=iota(16x16), N=16, FLIP=6) -> y:f32 == [[2 * (16 * r + (c ^ 1)) for r in range(16)] for c in range(16)]
# expect: turned(x=iota(32x32), N=32, FLIP=20) -> y:f32 == [[2 * (32 * r + (c ^ 1)) for r in range(32)] for c in range(32)]
# expect: reshaped_row(x=iota(64), N=64) -> y == [2 * i for i in range(64)]
# expect: merged(x=[i if i < 8 else 23 - i for i in range(16)]:f32, n=4, steps=4) -> y == [i for i in range(16)]
# expect: merged(x=[i % 32 if i % 32 < 16 else 47 - i % 32 for i in range(64)]:f32, n=6, steps=5) -> y == [i % 32 for i in range(64)]
# expect: merged(x=iota(8), n=3, steps=1) -> y == [i for i in range(8)]
