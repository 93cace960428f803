import triton
import triton.language as tl


@triton.jit
def product(a, b, c, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    acc = tl.zeros((BM, BN), tl.float32)
    for start in range(0, K, BK):
        acc = tl.dot(a.load([0, start]), b.load([start, 0]), acc)
    c.store([0, 0], acc.to(tl.float16))


# The same, of descriptors that the kernel makes.
@triton.jit
def product_of_made(a, b, c, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    x = tl.make_tensor_descriptor(a, [BM, K], [K, 1], [BM, BK])
    y = tl.make_tensor_descriptor(b, [K, BN], [BN, 1], [BK, BN])
    acc = tl.zeros((BM, BN), tl.float32)
    for start in range(0, K, BK):
        acc = tl.dot(x.load([0, start]), y.load([start, 0]), acc)
    tl.make_tensor_descriptor(c, [BM, BN], [BN, 1], [BM, BN]).store([0, 0], acc.to(tl.float16))


# Tile after tile: the copy engine reads one while the next is multiplied.
@triton.jit
def tiles(a, b, c, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    for n in tl.range(0, N, BN, flatten=True):
        acc = tl.zeros((BM, BN), tl.float32)
        for start in range(0, K, BK):
            acc = tl.dot(a.load([0, start]), b.load([start, n]), acc)
        c.store([0, n], acc.to(tl.float16))


# The kernel itself writes what it loads.
@triton.jit
def product_of_written(a, b, c, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    k = tl.arange(0, BK)
    for start in range(0, K, BK):
        tl.store(a + tl.arange(0, BM)[:, None] * K + start + k[None, :], tl.full((BM, BK), 1.0, tl.float16))
    tl.debug_barrier()
    product_of_made(a, b, c, K, BM, BN, BK)


# Two long products a step and exponentials between them: warp groups take turns.
@triton.jit
def weighted(a, b, v, c, N, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    x = a.load([0, 0])
    acc = tl.zeros((BM, BK), tl.float32)
    for n in range(0, N, BN):
        weights = tl.exp2(tl.dot(x, b.load([n, 0]).T) - 128)
        acc = tl.dot(weights.to(tl.float16), v.load([n, 0]), acc)
    tl.store(c + tl.arange(0, BM)[:, None] * BK + tl.arange(0, BK)[None, :], acc)


@triton.jit
def gradients(q, do, k, dq, dk, M, BM: tl.constexpr, D: tl.constexpr):
    keys = k.load([0, 0])
    values = k.load([BM, 0])
    of_keys = tl.zeros([BM, D], dtype=tl.float32)
    of_values = tl.zeros([BM, D], dtype=tl.float32)
    for start in range(0, M, BM):
        queries = q.load([start, 0])
        outputs = do.load([start, 0])
        p = tl.dot(keys, queries.T) / D
        dp = tl.dot(values, outputs.T) / D
        of_values = tl.dot(p.to(tl.float16), outputs, of_values)
        ds = (p * dp).to(tl.float16)
        of_keys = tl.dot(ds, queries, of_keys)
        dq.atomic_add([start, 0], tl.dot(ds.T, keys))
    dk.store([0, 0], of_keys + of_values)
