"""Attention without its N x N matrix, forward.

Tensors are [batch, head, sequence, D] with any strides but 1 along D. Query head h reads key head
h // GROUP. Under CAUSAL the last query sees all keys: query i sees key j when j <= i + N - M.
Probabilities are kept in powers of two, since exp2 is what the hardware computes.
"""
import triton
import triton.language as tl

LOG2E = tl.constexpr(1.4426950408889634)
# The least finite f32. A running maximum starts here rather than at -inf, so that a row with
# nothing visible yet gives exp2(-inf - LOWEST) = 0 and not exp2(-inf + inf) = NaN.
LOWEST = tl.constexpr(-3.4028234663852886e38)


@triton.jit
def load_rows(base, rows, stride, COUNT, D: tl.constexpr, BLOCK_D: tl.constexpr):
    """Rows of D elements; rows from COUNT on and columns from D on are 0."""
    d = tl.arange(0, BLOCK_D)
    inside = rows[:, None] < COUNT
    if D != BLOCK_D:
        inside = inside & (d[None, :] < D)
    return tl.load(base + rows.to(tl.int64)[:, None] * stride + d[None, :], mask=inside, other=0.0)


@triton.jit
def store_rows(base, rows, stride, COUNT, value, D: tl.constexpr, BLOCK_D: tl.constexpr):
    d = tl.arange(0, BLOCK_D)
    inside = (rows[:, None] < COUNT) & (d[None, :] < D)
    tl.store(base + rows.to(tl.int64)[:, None] * stride + d[None, :], value.to(base.dtype.element_ty), mask=inside)


@triton.jit
def log2_scores(q, k, bias, rows, columns, stride_bias, M, N, scale, CAUSAL: tl.constexpr, EDGE: tl.constexpr,
                PRECISION: tl.constexpr):
    """Scores of a tile times log2(e). EDGE tiles may hold keys that are not there or not visible; others need no test."""
    s = tl.dot(q, tl.trans(k), input_precision=PRECISION) * (scale * LOG2E)
    if bias is not None:
        inside = (rows[:, None] < M) & (columns[None, :] < N)
        at = rows.to(tl.int64)[:, None] * stride_bias + columns[None, :]
        s += tl.load(bias + at, mask=inside, other=0.0).to(tl.float32) * LOG2E
    if EDGE:
        visible = columns[None, :] < N
        if CAUSAL:
            visible = visible & (columns[None, :] <= rows[:, None] + (N - M))
        s = tl.where(visible, s, -float("inf"))
    return s


@triton.jit
def kept(seed, head, rows, columns, M, N, p):
    """The dropout mask of a tile: it depends on the element's place alone, so every pass finds it again."""
    row = head.to(tl.int64) * M + rows
    return tl.rand(seed, row[:, None] * N + columns[None, :]) > p


@triton.jit
def attend(acc, m, l, q, k_base, v_base, bias, head, rows, first, last, stride_kn, stride_vn, stride_bias, M, N, scale, p, seed,
           D: tl.constexpr, BLOCK_D: tl.constexpr, BLOCK_N: tl.constexpr,
           CAUSAL: tl.constexpr, DROPOUT: tl.constexpr, EDGE: tl.constexpr, PRECISION: tl.constexpr):
    """Takes keys [first, last) into the running maximum m, sum l and weighted values acc of each row."""
    for start in range(first, last, BLOCK_N):
        columns = start + tl.arange(0, BLOCK_N)
        k = load_rows(k_base, columns, stride_kn, N, D, BLOCK_D)
        s = log2_scores(q, k, bias, rows, columns, stride_bias, M, N, scale, CAUSAL, EDGE, PRECISION)
        m_new = tl.maximum(m, tl.max(s, axis=1))
        shrink = tl.exp2(m - m_new)
        weights = tl.exp2(s - m_new[:, None])
        l = l * shrink + tl.sum(weights, axis=1)
        if DROPOUT:
            weights = tl.where(kept(seed, head, rows, columns, M, N, p), weights, 0.0)
        v = load_rows(v_base, columns, stride_vn, N, D, BLOCK_D)
        acc = tl.dot(weights.to(v.dtype), v, acc * shrink[:, None], input_precision=PRECISION)
        m = m_new
    return acc, m, l


@triton.jit
def flash_forward(q_ptr, k_ptr, v_ptr, bias_ptr, out_ptr, lse_ptr,
                  stride_qb, stride_qh, stride_qm, stride_kb, stride_kh, stride_kn, stride_vb, stride_vh, stride_vn,
                  stride_bias_b, stride_bias_h, stride_bias_m, stride_ob, stride_oh, stride_om,
                  H, GROUP, M, N, scale, p, seed,
                  D: tl.constexpr, BLOCK_D: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr,
                  CAUSAL: tl.constexpr, DROPOUT: tl.constexpr, PRECISION: tl.constexpr):
    """BLOCK_M queries of one head a program. Stores the result and the logarithm of each row's sum of exponentials."""
    start_m = tl.program_id(0) * BLOCK_M
    head = tl.program_id(1)
    b = (head // H).to(tl.int64)
    h = (head % H).to(tl.int64)
    rows = start_m + tl.arange(0, BLOCK_M)
    k_base = k_ptr + b * stride_kb + (h // GROUP) * stride_kh
    v_base = v_ptr + b * stride_vb + (h // GROUP) * stride_vh
    bias = None
    if bias_ptr is not None:
        bias = bias_ptr + b * stride_bias_b + h * stride_bias_h
    q = load_rows(q_ptr + b * stride_qb + h * stride_qh, rows, stride_qm, M, D, BLOCK_D)

    m = tl.full([BLOCK_M], LOWEST, dtype=tl.float32)
    l = tl.zeros([BLOCK_M], dtype=tl.float32)
    acc = tl.zeros([BLOCK_M, BLOCK_D], dtype=tl.float32)

    # Keys in [0, inner) are visible to all rows, those in [inner, last) to some.
    last = N
    inner = N
    if CAUSAL:
        last = min(N, max(start_m + BLOCK_M + N - M, 0))
        inner = min(N, max(start_m + 1 + N - M, 0))
    inner = inner // BLOCK_N * BLOCK_N
    acc, m, l = attend(acc, m, l, q, k_base, v_base, bias, head, rows, 0, inner, stride_kn, stride_vn, stride_bias_m, M, N,
                       scale, p, seed, D, BLOCK_D, BLOCK_N, CAUSAL, DROPOUT, False, PRECISION)
    acc, m, l = attend(acc, m, l, q, k_base, v_base, bias, head, rows, inner, last, stride_kn, stride_vn, stride_bias_m, M, N,
                       scale, p, seed, D, BLOCK_D, BLOCK_N, CAUSAL, DROPOUT, True, PRECISION)

    # A row that sees no key is 0, and its lse is -inf.
    total = tl.where(l > 0, l, 1.0)
    lse = tl.where(l > 0, (m + tl.log2(total)) / LOG2E, -float("inf"))
    if DROPOUT:
        total = total * (1.0 - p)
    store_rows(out_ptr + b * stride_ob + h * stride_oh, rows, stride_om, M, acc / total[:, None], D, BLOCK_D)
    tl.store(lse_ptr + head.to(tl.int64) * M + rows, lse, mask=rows < M)
