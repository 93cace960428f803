# The kernels of written_twice.h in the Triton language: both give the same tile IR.
import triton
import triton.language as tl


@triton.jit
def add(x, y, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = i < n
    tl.store(out + i, tl.load(x + i, mask=mask) + tl.load(y + i, mask=mask), mask=mask)


@triton.jit
def softmax(x, out, stride, n, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    columns = tl.arange(0, BLOCK)
    mask = columns < n
    values = tl.load(x + row * stride + columns, mask=mask, other=-float("inf"))
    powers = tl.exp(values - tl.max(values, axis=0))
    tl.store(out + row * stride + columns, powers / tl.sum(powers, axis=0), mask=mask)


@triton.jit
def matmul(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, RELU: tl.constexpr = False):
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    columns = tl.program_id(1) * BN + tl.arange(0, BN)
    inner = tl.arange(0, BK)
    a += rows[:, None] * K + inner[None, :]
    b += inner[:, None] * N + columns[None, :]
    sums = tl.zeros((BM, BN), tl.float32)
    for start in range(0, K, BK):
        left = K - start
        x = tl.load(a, mask=(rows[:, None] < M) & (inner[None, :] < left), other=0.0)
        y = tl.load(b, mask=(inner[:, None] < left) & (columns[None, :] < N), other=0.0)
        sums = tl.dot(x, y, sums, input_precision="ieee")
        a += BK
        b += BK * N
    if RELU:
        sums = tl.maximum(sums, 0.0)
    inside = (rows[:, None] < M) & (columns[None, :] < N)
    tl.store(c + rows[:, None] * N + columns[None, :], sums, mask=inside)


@triton.jit
def rows_of(base, rows, n, D: tl.constexpr):
    return tl.load(base + rows[:, None] * D + tl.arange(0, D)[None, :], mask=rows[:, None] < n, other=0.0)


@triton.jit
def attention(q, k, v, out, n, scale, D: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, CAUSAL: tl.constexpr):
    head = tl.program_id(1) * n * D
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    queries = rows_of(q + head, rows, n, D)
    peak = tl.full((BM,), -3.0e38, tl.float32)
    total = tl.zeros((BM,), tl.float32)
    sums = tl.zeros((BM, D), tl.float32)
    end = n
    if CAUSAL:
        end = tl.minimum(n, (tl.program_id(0) + 1) * BM)
    for start in range(0, end, BN):
        columns = start + tl.arange(0, BN)
        keys = rows_of(k + head, columns, n, D)
        scores = tl.dot(queries, tl.trans(keys), input_precision="ieee") * scale
        visible = columns[None, :] < n
        if CAUSAL:
            visible = visible & (columns[None, :] <= rows[:, None])
        scores = tl.where(visible, scores, -float("inf"))
        higher = tl.maximum(peak, tl.max(scores, axis=1))
        shrink = tl.exp(peak - higher)
        weights = tl.exp(scores - higher[:, None])
        total = total * shrink + tl.sum(weights, axis=1)
        values = rows_of(v + head, columns, n, D)
        sums = tl.dot(weights, values, sums * shrink[:, None], input_precision="ieee")
        peak = higher
    at = head + rows[:, None] * D + tl.arange(0, D)[None, :]
    tl.store(out + at, sums / total[:, None], mask=rows[:, None] < n)
