"""The last linear layer and its cross entropy together: logits x @ w^T of [M, V] never lie in memory whole.

`streamed` keeps the logits of a tile in registers and their statistics alone in memory, for a loss
without gradient. With gradients, rows go in chunks: their logits become their gradient in place,
and two products carry it on before the next chunk takes the same memory.
"""
import triton
import triton.language as tl

from kernel import LN2, LOG2E, LOWEST


@triton.jit
def product(a_ptr, b_ptr, c_ptr, a_start, b_start, c_start, M, N, K,
            stride_am, stride_ak, stride_bk, stride_bn, stride_cm,
            BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr, GROUP_M: tl.constexpr,
            EVEN_K: tl.constexpr, ADD: tl.constexpr, PRECISION: tl.constexpr):
    """C = A @ B, or C += A @ B under ADD, each from an element of its tensor on."""
    pid = tl.program_id(0)
    rows = tl.cdiv(M, BLOCK_M)
    per_group = GROUP_M * tl.cdiv(N, BLOCK_N)
    first = pid // per_group * GROUP_M
    height = min(rows - first, GROUP_M)
    m = (first + pid % per_group % height) * BLOCK_M + tl.arange(0, BLOCK_M)
    n = pid % per_group // height * BLOCK_N + tl.arange(0, BLOCK_N)
    k = tl.arange(0, BLOCK_K)

    # Rows past the edge wrap around: they are read in bounds without a mask, and never stored.
    a = a_ptr + a_start + (m % M).to(tl.int64)[:, None] * stride_am + k.to(tl.int64)[None, :] * stride_ak
    b = b_ptr + b_start + k.to(tl.int64)[:, None] * stride_bk + (n % N).to(tl.int64)[None, :] * stride_bn
    acc = tl.zeros([BLOCK_M, BLOCK_N], dtype=tl.float32)
    for start in range(0, K, BLOCK_K):
        if EVEN_K:
            a_tile = tl.load(a)
            b_tile = tl.load(b)
        else:
            a_tile = tl.load(a, mask=k[None, :] < K - start, other=0.0)
            b_tile = tl.load(b, mask=k[:, None] < K - start, other=0.0)
        acc = tl.dot(a_tile, b_tile, acc, input_precision=PRECISION)
        a += tl.cast(BLOCK_K, tl.int64) * stride_ak
        b += tl.cast(BLOCK_K, tl.int64) * stride_bk

    c = c_ptr + c_start + m.to(tl.int64)[:, None] * stride_cm + n[None, :]
    inside = (m[:, None] < M) & (n[None, :] < N)
    if ADD:
        acc += tl.load(c, mask=inside, other=0.0)
    tl.store(c, acc.to(c_ptr.dtype.element_ty), mask=inside)


@triton.jit
def streamed(x_ptr, w_ptr, target_ptr, m_ptr, s_ptr, picked_ptr, M, V, H, V_PER_SPLIT,
             BLOCK_M: tl.constexpr, BLOCK_V: tl.constexpr, BLOCK_H: tl.constexpr, EVEN_H: tl.constexpr, PRECISION: tl.constexpr):
    """BLOCK_M rows against a slice of the classes a program: maximum, sum and the target's logit of each row.

    Programs of one slice are neighbours, so that they share the slice's weights in the L2 cache.
    """
    rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    split = tl.program_id(1)
    first = split * V_PER_SPLIT
    last = min(first + V_PER_SPLIT, V)
    target = tl.load(target_ptr + rows, mask=rows < M, other=-1)
    h = tl.arange(0, BLOCK_H)
    x = x_ptr + (rows % M).to(tl.int64)[:, None] * H + h[None, :]

    m = tl.full([BLOCK_M], LOWEST, tl.float32)
    s = tl.zeros([BLOCK_M], tl.float32)
    picked = tl.zeros([BLOCK_M], tl.float32)
    for start in range(first, last, BLOCK_V):
        classes = start + tl.arange(0, BLOCK_V)
        w = w_ptr + (classes % V).to(tl.int64)[None, :] * H + h[:, None]
        logits = tl.zeros([BLOCK_M, BLOCK_V], dtype=tl.float32)
        for k in range(0, H, BLOCK_H):
            if EVEN_H:
                x_tile = tl.load(x + k)
                w_tile = tl.load(w + k)
            else:
                x_tile = tl.load(x + k, mask=h[None, :] < H - k, other=0.0)
                w_tile = tl.load(w + k, mask=h[:, None] < H - k, other=0.0)
            logits = tl.dot(x_tile, w_tile, logits, input_precision=PRECISION)
        picked += tl.sum(tl.where(classes[None, :] == target[:, None], logits, 0.0), axis=1)
        logits = tl.where(classes[None, :] < last, logits * LOG2E, -float("inf"))
        m_new = tl.maximum(m, tl.max(logits, axis=1))
        s = s * tl.exp2(m - m_new) + tl.sum(tl.exp2(logits - m_new[:, None]), axis=1)
        m = m_new
    at = split.to(tl.int64) * M + rows
    tl.store(m_ptr + at, m, mask=rows < M)
    tl.store(s_ptr + at, s, mask=rows < M)
    tl.store(picked_ptr + at, picked, mask=rows < M)


@triton.jit
def join_slices(m_ptr, s_ptr, picked_ptr, target_ptr, loss_ptr, M, V, SPLITS, ignore_index, BLOCK: tl.constexpr):
    """One row a lane: takes its slices together, each weighed by its maximum."""
    rows = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = rows < M
    m = tl.full([BLOCK], LOWEST, tl.float32)
    s = tl.zeros([BLOCK], tl.float32)
    picked = tl.zeros([BLOCK], tl.float32)
    for split in range(SPLITS):
        at = tl.cast(split, tl.int64) * M + rows
        m_split = tl.load(m_ptr + at, mask=inside, other=LOWEST)
        m_new = tl.maximum(m, m_split)
        s = s * tl.exp2(m - m_new) + tl.load(s_ptr + at, mask=inside, other=0.0) * tl.exp2(m_split - m_new)
        picked += tl.load(picked_ptr + at, mask=inside, other=0.0)
        m = m_new
    target = tl.load(target_ptr + rows, mask=inside, other=0)
    loss = (m + tl.log2(s)) * LN2 - picked
    loss = tl.where((target >= 0) & (target < V), loss, float("nan"))
    tl.store(loss_ptr + rows, tl.where(target == ignore_index, 0.0, loss), mask=inside)
