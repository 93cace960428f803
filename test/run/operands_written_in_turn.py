# run: ref cpu gpu
# Products whose right operand is computed in each step, while the product of the step before runs: along rows and along columns, two of one left
# operand, in a loop over tiles, by descriptors; with one step, with fewer than places and slots, and with more. The sums of a program are so many
# that a multiprocessor has no room for a second one.
import triton
import triton.language as tl


@triton.autotune(configs=[triton.Config({}, num_warps=8, num_stages=3)], key=[])
@triton.jit
def along_columns(x, w, scale, out, K, N: tl.constexpr):
    i, j, k = tl.arange(0, 128), tl.arange(0, N), tl.arange(0, 32)
    total = tl.zeros([128, N], dtype=tl.float32)
    for t in range(0, K, 32):
        left = tl.load(x + i[:, None] * K + t + k[None, :])
        right = tl.load(w + (t + k)[:, None] * N + j[None, :])
        row = tl.load(scale + t // 32 * N + j)
        total = tl.dot(left, right.to(tl.float16) * row[None, :], total)
    tl.store(out + i[:, None] * N + j[None, :], total)


@triton.autotune(configs=[triton.Config({}, num_warps=8, num_stages=3)], key=[])
@triton.jit
def along_rows(x, w, out, K):
    i, j, k = tl.arange(0, 128), tl.arange(0, 256), tl.arange(0, 32)
    total = tl.full([128, 256], 1.0, dtype=tl.float32)
    for t in range(0, K, 32):
        left = tl.load(x + i[:, None] * K + t + k[None, :])
        right = tl.load(w + j[:, None] * K + t + k[None, :])
        total += tl.dot(left, tl.trans(right.to(tl.float16)))
    tl.store(out + i[:, None] * 256 + j[None, :], total)


@triton.autotune(configs=[triton.Config({}, num_warps=8, num_stages=3)], key=[])
@triton.jit
def gate_and_up(x, gate, up, out, K):
    i, j, k = tl.arange(0, 128), tl.arange(0, 128), tl.arange(0, 32)
    first, second = tl.zeros([128, 128], dtype=tl.float32), tl.zeros([128, 128], dtype=tl.float32)
    for t in range(0, K, 32):
        left = tl.load(x + i[:, None] * K + t + k[None, :])
        g = tl.load(gate + (t + k)[:, None] * 128 + j[None, :])
        u = tl.load(up + (t + k)[:, None] * 128 + j[None, :])
        first = tl.dot(left, g.to(tl.float16), first)
        second = tl.dot(left, (u + 1).to(tl.float16), second)
    tl.store(out + i[:, None] * 128 + j[None, :], first * second)


@triton.autotune(configs=[triton.Config({}, num_warps=8, num_stages=3)], key=[])
@triton.jit
def by_descriptors(x, w, out, TILES, K):
    x_desc = tl.make_tensor_descriptor(x, [128, K], [K, 1], [128, 32])
    w_desc = tl.make_tensor_descriptor(w, [K, TILES * 256], [TILES * 256, 1], [32, 256])
    i, j = tl.arange(0, 128), tl.arange(0, 256)
    for tile in tl.range(TILES, flatten=True):
        total = tl.zeros([128, 256], dtype=tl.float32)
        for t in range(0, K, 32):
            right = w_desc.load([t, tile * 256])
            total = tl.dot(x_desc.load([0, t]), right.to(tl.float16) * 0.5, total)
        tl.store(out + i[:, None] * (TILES * 256) + tile * 256 + j[None, :], total)

# expect: along_columns(x=[[(i % 8 * 3 + k) % 9 - 4 for k in range(32)] for i in range(128)]:f16, w=[[k * (j + 1) % 7 - 3 for j in range(256)] for k in range(32)]:i8,
#     scale=[[(t + j) % 3 + 0.5 for j in range(256)] for t in range(1)]:f16, K=32, N=256)
#     -> out:f32 == [[float(sum(((3 * i + k) % 9 - 4) * (k * (j + 1) % 7 - 3) * ((k // 32 + j) % 3 + 0.5) for k in range(32))) for j in range(256)] for i in range(8)] * 16
# expect: along_rows(x=[[(i % 8 * 3 + k) % 9 - 4 for k in range(32)] for i in range(128)]:f16, w=[[k * (j + 1) % 7 - 3 for k in range(32)] for j in range(256)]:i8, K=32)
#     -> out:f32 == [[1.0 + sum(((3 * i + k) % 9 - 4) * (k * (j + 1) % 7 - 3) for k in range(32)) for j in range(256)] for i in range(8)] * 16
# expect: gate_and_up(x=[[(i % 8 * 3 + k) % 9 - 4 for k in range(32)] for i in range(128)]:f16, gate=[[k * (j + 1) % 7 - 3 for j in range(128)] for k in range(32)]:i8, up=[[k * (j + 2) % 5 - 2 for j in range(128)] for k in range(32)]:i8, K=32)
#     -> out:f32 == [[float(sum(((3 * i + k) % 9 - 4) * (k * (j + 1) % 7 - 3) for k in range(32)) * sum(((3 * i + k) % 9 - 4) * (k * (j + 2) % 5 - 1) for k in range(32))) for j in range(128)] for i in range(8)] * 16
# expect: by_descriptors(x=[[(i % 8 * 3 + k) % 9 - 4 for k in range(32)] for i in range(128)]:f16, w=[[k * (j + 1) % 7 - 3 for j in range(512)] for k in range(32)]:i8, TILES=2, K=32)
#     -> out:f32 == [[sum(((3 * i + k) % 9 - 4) * (k * (j + 1) % 7 - 3) for k in range(32)) * 0.5 for j in range(512)] for i in range(8)] * 16
# expect: along_columns(x=[[(i % 8 * 3 + k) % 9 - 4 for k in range(64)] for i in range(128)]:f16, w=[[k * (j + 1) % 7 - 3 for j in range(256)] for k in range(64)]:i8,
#     scale=[[(t + j) % 3 + 0.5 for j in range(256)] for t in range(2)]:f16, K=64, N=256)
#     -> out:f32 == [[float(sum(((3 * i + k) % 9 - 4) * (k * (j + 1) % 7 - 3) * ((k // 32 + j) % 3 + 0.5) for k in range(64))) for j in range(256)] for i in range(8)] * 16
# expect: along_rows(x=[[(i % 8 * 3 + k) % 9 - 4 for k in range(64)] for i in range(128)]:f16, w=[[k * (j + 1) % 7 - 3 for k in range(64)] for j in range(256)]:i8, K=64)
#     -> out:f32 == [[1.0 + sum(((3 * i + k) % 9 - 4) * (k * (j + 1) % 7 - 3) for k in range(64)) for j in range(256)] for i in range(8)] * 16
# expect: gate_and_up(x=[[(i % 8 * 3 + k) % 9 - 4 for k in range(64)] for i in range(128)]:f16, gate=[[k * (j + 1) % 7 - 3 for j in range(128)] for k in range(64)]:i8, up=[[k * (j + 2) % 5 - 2 for j in range(128)] for k in range(64)]:i8, K=64)
#     -> out:f32 == [[float(sum(((3 * i + k) % 9 - 4) * (k * (j + 1) % 7 - 3) for k in range(64)) * sum(((3 * i + k) % 9 - 4) * (k * (j + 2) % 5 - 1) for k in range(64))) for j in range(128)] for i in range(8)] * 16
# expect: by_descriptors(x=[[(i % 8 * 3 + k) % 9 - 4 for k in range(64)] for i in range(128)]:f16, w=[[k * (j + 1) % 7 - 3 for j in range(512)] for k in range(64)]:i8, TILES=2, K=64)
#     -> out:f32 == [[sum(((3 * i + k) % 9 - 4) * (k * (j + 1) % 7 - 3) for k in range(64)) * 0.5 for j in range(512)] for i in range(8)] * 16
# expect: along_columns(x=[[(i % 8 * 3 + k) % 9 - 4 for k in range(160)] for i in range(128)]:f16, w=[[k * (j + 1) % 7 - 3 for j in range(256)] for k in range(160)]:i8,
#     scale=[[(t + j) % 3 + 0.5 for j in range(256)] for t in range(5)]:f16, K=160, N=256)
#     -> out:f32 == [[float(sum(((3 * i + k) % 9 - 4) * (k * (j + 1) % 7 - 3) * ((k // 32 + j) % 3 + 0.5) for k in range(160))) for j in range(256)] for i in range(8)] * 16
# expect: along_rows(x=[[(i % 8 * 3 + k) % 9 - 4 for k in range(160)] for i in range(128)]:f16, w=[[k * (j + 1) % 7 - 3 for k in range(160)] for j in range(256)]:i8, K=160)
#     -> out:f32 == [[1.0 + sum(((3 * i + k) % 9 - 4) * (k * (j + 1) % 7 - 3) for k in range(160)) for j in range(256)] for i in range(8)] * 16
# expect: gate_and_up(x=[[(i % 8 * 3 + k) % 9 - 4 for k in range(160)] for i in range(128)]:f16, gate=[[k * (j + 1) % 7 - 3 for j in range(128)] for k in range(160)]:i8, up=[[k * (j + 2) % 5 - 2 for j in range(128)] for k in range(160)]:i8, K=160)
#     -> out:f32 == [[float(sum(((3 * i + k) % 9 - 4) * (k * (j + 1) % 7 - 3) for k in range(160)) * sum(((3 * i + k) % 9 - 4) * (k * (j + 2) % 5 - 1) for k in range(160))) for j in range(128)] for i in range(8)] * 16
# expect: by_descriptors(x=[[(i % 8 * 3 + k) % 9 - 4 for k in range(160)] for i in range(128)]:f16, w=[[k * (j + 1) % 7 - 3 for j in range(512)] for k in range(160)]:i8, TILES=2, K=160)
#     -> out:f32 == [[sum(((3 * i + k) % 9 - 4) * (k * (j + 1) % 7 - 3) for k in range(160)) * 0.5 for j in range(512)] for i in range(8)] * 16
