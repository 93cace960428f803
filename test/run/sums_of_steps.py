# run: ref cpu gpu
# What each step of a loop reduces and combines with what it carries: rows, columns and all of a tile, in one loop or two, also of no steps.
import triton
import triton.language as tl


@triton.jit
def sums(x, rows, columns, all, greatest, H: tl.constexpr, W: tl.constexpr, steps):
    r, c = tl.arange(0, H), tl.arange(0, W)
    by_row = tl.zeros([H], tl.float32) + 1
    by_column = c * 1.0
    total = 0.5
    most = -1.0
    for step in range(steps):
        v = tl.load(x + step * H * W + r[:, None] * W + c[None, :])
        by_row += tl.sum(v, 1)
        by_column += tl.sum(v, 0)
        total += tl.sum(tl.reshape(v, [H * W]), 0)
        most = tl.maximum(most, tl.max(tl.reshape(v, [H * W]), 0))
    tl.store(rows + r, by_row)
    tl.store(columns + c, by_column)
    tl.store(all, total)
    tl.store(greatest, most)


@triton.jit
def twice(x, out, N: tl.constexpr, outer, inner):
    i = tl.arange(0, N)
    count = 0
    for a in range(outer):
        for b in range(inner):
            count += tl.sum(tl.load(x + (a * inner + b) * N + i), 0)
    tl.store(out, count)


# On its way to what is carried a sum is turned over, or repeated.
@triton.jit
def turned(x, out, repeated, steps):
    i, k = tl.arange(0, 16), tl.arange(0, 32)
    by_column = tl.zeros([16, 16], tl.float32)
    by_row = tl.zeros([16, 16], tl.float32)
    for step in range(steps):
        v = tl.load(x + step * 8192 + i[:, None, None] * 512 + i[None, :, None] * 32 + k[None, None, :])
        by_column += tl.trans(tl.sum(v, 2))
        by_row += tl.sum(tl.sum(v, 2), 1)[:, None]
    tl.store(out + i[:, None] * 16 + i[None, :], by_column)
    tl.store(repeated + i[:, None] * 16 + i[None, :], by_row)


# expect: turned(x=values([n % 11 for n in range(16384)], f32), out=zeros(256,f32), repeated=zeros(256,f32), steps=2)
#     -> out == [sum([(s * 8192 + n % 16 * 512 + n // 16 * 32 + k) % 11 for s in range(2) for k in range(32)]) for n in range(256)]
#     and repeated == [sum([(s * 8192 + n // 16 * 512 + j * 32 + k) % 11 for s in range(2) for j in range(16) for k in range(32)]) for n in range(256)]
# expect: sums(x=iota(6144), H=32, W=64, steps=3)
#     -> rows:f32 == [1 + sum(s * 2048 + r * 64 + c for s in range(3) for c in range(64)) for r in range(32)]
#     and columns:f32 == [c + sum(s * 2048 + r * 64 + c for s in range(3) for r in range(32)) for c in range(64)]
#     and all:f32 ~= [18871296.5] within 1e-6 and greatest:f32 == [6143]
# expect: sums(x=iota(2048), H=32, W=64, steps=1)
#     -> rows:f32 == [1 + sum(s * 2048 + r * 64 + c for s in range(1) for c in range(64)) for r in range(32)]
#     and columns:f32 == [c + sum(s * 2048 + r * 64 + c for s in range(1) for r in range(32)) for c in range(64)]
#     and all:f32 == [2096128.5] and greatest:f32 == [2047]
# expect: sums(x=iota(2048), H=32, W=64, steps=0)
#     -> rows:f32 == [1 + sum(s * 2048 + r * 64 + c for s in range(0) for c in range(64)) for r in range(32)]
#     and columns:f32 == [c + sum(s * 2048 + r * 64 + c for s in range(0) for r in range(32)) for c in range(64)]
#     and all:f32 == [0.5] and greatest:f32 == [-1]
# expect: sums(x=iota(1024), H=2, W=256, steps=2)
#     -> rows:f32 == [1 + sum(s * 512 + r * 256 + c for s in range(2) for c in range(256)) for r in range(2)]
#     and columns:f32 == [c + sum(s * 512 + r * 256 + c for s in range(2) for r in range(2)) for c in range(256)]
#     and all:f32 == [523776.5] and greatest:f32 == [1023]
# expect: twice(x=iota(1536, i32), N=256, outer=3, inner=2) -> out:i32 == [1178880]
