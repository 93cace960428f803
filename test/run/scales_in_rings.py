# run: ref cpu gpu
# Scales of a step's weights, a row of halves, beside weights that are taken apart of words: with one step, with as many as slots, and with more.
import triton
import triton.language as tl


@triton.autotune(configs=[triton.Config({}, num_warps=4, num_stages=3)], key=[])
@triton.jit
def words(x, w, scale, out, K):
    i, j, k = tl.arange(0, 32), tl.arange(0, 32), tl.arange(0, 32)
    shift = tl.reshape(tl.broadcast_to((tl.arange(0, 8) * 4)[None, :], (32 * 4, 8)), (32, 32))
    total = tl.zeros([32, 32], dtype=tl.float32)
    for t in range(0, K, 32):
        left = tl.load(x + i[:, None] * K + t + k[None, :])
        word = tl.load(w + (t + k)[:, None] * 4 + tl.arange(0, 4)[None, :])
        word = tl.interleave(word, word)
        word = tl.interleave(word, word)
        word = tl.interleave(word, word)
        row = tl.load(scale + t // 32 * 32 + j)
        total = tl.dot(left, ((word >> shift) & 15) * row[None, :], total)
    tl.store(out + i[:, None] * 32 + j[None, :], total)

# expect: words(x=[[(i % 8 * 3 + k) % 9 - 4 for k in range(32)] for i in range(32)]:f16, w=[[(k * 40503 + c * 9973 + k * c * 70001) % 2147483647 for c in range(4)] for k in range(32)]:i32,
#     scale=[[(t + j) % 3 + 0.5 for j in range(32)] for t in range(1)]:f16, K=32)
#     -> out:f32 == [[float(sum(((3 * i + k) % 9 - 4) * ((k * 40503 + j // 8 * 9973 + k * (j // 8) * 70001) % 2147483647 // 16 ** (j % 8) % 16) * ((k // 32 + j) % 3 + 0.5) for k in range(32))) for j in range(32)] for i in range(8)] * 4
# expect: words(x=[[(i % 8 * 3 + k) % 9 - 4 for k in range(96)] for i in range(32)]:f16, w=[[(k * 40503 + c * 9973 + k * c * 70001) % 2147483647 for c in range(4)] for k in range(96)]:i32,
#     scale=[[(t + j) % 3 + 0.5 for j in range(32)] for t in range(3)]:f16, K=96)
#     -> out:f32 == [[float(sum(((3 * i + k) % 9 - 4) * ((k * 40503 + j // 8 * 9973 + k * (j // 8) * 70001) % 2147483647 // 16 ** (j % 8) % 16) * ((k // 32 + j) % 3 + 0.5) for k in range(96))) for j in range(32)] for i in range(8)] * 4
# expect: words(x=[[(i % 8 * 3 + k) % 9 - 4 for k in range(160)] for i in range(32)]:f16, w=[[(k * 40503 + c * 9973 + k * c * 70001) % 2147483647 for c in range(4)] for k in range(160)]:i32,
#     scale=[[(t + j) % 3 + 0.5 for j in range(32)] for t in range(5)]:f16, K=160)
#     -> out:f32 == [[float(sum(((3 * i + k) % 9 - 4) * ((k * 40503 + j // 8 * 9973 + k * (j // 8) * 70001) % 2147483647 // 16 ** (j % 8) % 16) * ((k // 32 + j) % 3 + 0.5) for k in range(160))) for j in range(32)] for i in range(8)] * 4
