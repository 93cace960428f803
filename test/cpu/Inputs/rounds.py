import triton
import triton.language as tl


@triton.jit
def pointers(a, b, c, K, stride_a, stride_b, BLOCK: tl.constexpr):
    m = tl.arange(0, BLOCK)
    k = tl.arange(0, BLOCK)
    a += m[:, None] * stride_a + k[None, :]
    b += k[:, None] * stride_b + m[None, :]
    acc = tl.zeros([BLOCK, BLOCK], tl.float32)
    for _ in range(0, K, BLOCK):
        acc = tl.dot(tl.load(a), tl.load(b), acc)
        a += BLOCK
        b += BLOCK * stride_b
    tl.store(c + m[:, None] * BLOCK + m[None, :], acc)


@triton.jit
def descriptors(a, b, c, K, BLOCK: tl.constexpr):
    a_desc = tl.make_tensor_descriptor(a, [BLOCK, K], [K, 1], [BLOCK, BLOCK])
    b_desc = tl.make_tensor_descriptor(b, [BLOCK, K], [K, 1], [BLOCK, BLOCK])
    m = tl.arange(0, BLOCK)
    acc = tl.zeros([BLOCK, BLOCK], tl.float32)
    for k in range(0, K, BLOCK):
        acc = tl.dot(a_desc.load([0, k]), b_desc.load([0, k]).T, acc)
    tl.store(c + m[:, None] * BLOCK + m[None, :], acc)


@triton.jit
def pages(table, pool, q, c, K, BLOCK: tl.constexpr):
    m = tl.arange(0, BLOCK)
    tile = m[:, None] * BLOCK + m[None, :]
    first = tl.load(q + tile)
    acc = tl.zeros([BLOCK, BLOCK], tl.float32)
    for page in range(K):
        keys = tl.load(pool + tl.load(table + page) * BLOCK * BLOCK + tile)
        acc = tl.dot(first, keys, acc)
    tl.store(c + tile, acc)
