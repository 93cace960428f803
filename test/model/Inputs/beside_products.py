import triton
import triton.language as tl


# What is loaded is rounded to halves on its way to the product: slots are read before it begins, and filled again beside it.
@triton.jit
def rounded(a, b, c, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    i, j, k = tl.arange(0, BM), tl.arange(0, BN), tl.arange(0, BK)
    acc = tl.zeros([BM, BN], dtype=tl.float32)
    for start in range(0, K, BK):
        left = tl.load(a + i[:, None] * K + start + k[None, :])
        right = tl.load(b + (start + k[:, None]) * BN + j[None, :])
        acc += tl.dot(left.to(tl.float16), right.to(tl.float16))
    tl.store(c + i[:, None] * BN + j[None, :], acc)


# Its blocks beside the sum come by the copy engine.
@triton.jit
def gated(a, b, g, u, c, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    acc = tl.zeros([BM, BN], dtype=tl.float32)
    for k in range(0, K, BK):
        acc = tl.dot(a.load([0, k]), b.load([k, 0]), acc)
    left, right = g.load([0, 0]).to(tl.float32), u.load([0, 0]).to(tl.float32)
    c.store([0, 0], (acc * (left + 1) + right).to(tl.float16))


# Weights of four bits and their zero points.
@triton.jit
def unpacked(a, b, points, c, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    i, j, k = tl.arange(0, BM), tl.arange(0, BN), tl.arange(0, BK)
    acc = tl.zeros([BM, BN], dtype=tl.float32)
    for step in range(0, K // BK):
        left = tl.load(a + i[:, None] * K + step * BK + k[None, :])
        right = tl.load(b + (step * (BK // 8) + k[:, None] // 8) * BN + j[None, :])
        zero = (tl.load(points + step * (BN // 8) + j // 8) >> (j % 8) * 4) & 15
        right = ((right >> (k % 8)[:, None] * 4) & 15).to(tl.float16) - zero.to(tl.float16)[None, :]
        acc = tl.dot(left, right, acc)
    tl.store(c + i[:, None] * BN + j[None, :], acc)
