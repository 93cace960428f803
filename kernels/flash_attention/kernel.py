"""Attention without its N x N matrix, forward.

Tensors are [batch, head, sequence, D] with any strides but 1 along D. Query head h reads key head
h // GROUP. Query i stands at position i + N - M, so that the last query and the last key meet. Under
CAUSAL it sees keys up to its position; with a WINDOW of w, keys less than w away from it.
Probabilities are kept in powers of two, since exp2 is what the hardware computes.

Sequences of different lengths lie one after another, [token, head, D]: `cu_q_ptr` and `cu_k_ptr` then
hold where each begins, and the total. Strides of the batch are not used; lse is [token, head].
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
def seen(rows, columns, M, N, CAUSAL: tl.constexpr, WINDOW: tl.constexpr):
    """Which keys are there and visible to which queries."""
    if CAUSAL:
        visible = columns <= tl.minimum(rows + (N - M), N - 1)
    else:
        visible = columns < N
    if WINDOW > 0:
        visible = visible & (columns > rows + (N - M - WINDOW))
        if not CAUSAL:
            visible = visible & (columns < rows + (N - M + WINDOW))
    return visible


@triton.jit
def log2_scores(q, k, bias, slope, rows, columns, stride_bias, M, N, scale, CAUSAL: tl.constexpr, EDGE: tl.constexpr,
                PRECISION: tl.constexpr, WINDOW: tl.constexpr, SOFT_CAP: tl.constexpr, TURNED: tl.constexpr = False):
    """Scores of a tile, under a soft cap their derivative by what they were before it, and what they are to be multiplied by
    (which is not negative) to be in powers of two: where the next step is a difference, both are one instruction.

    EDGE tiles may hold keys that are not there or not visible; others need no test. `slope` is ALiBi's
    of the head times log2(e), or None: a score falls with the distance. TURNED tiles are keys by queries.
    """
    if TURNED:
        rows = rows[None, :]
        columns = columns[:, None]
        s = tl.dot(k, tl.trans(q), input_precision=PRECISION)
    else:
        rows = rows[:, None]
        columns = columns[None, :]
        s = tl.dot(q, tl.trans(k), input_precision=PRECISION)
    steep = 1.0
    unit = 1.0
    if SOFT_CAP > 0:
        # cap * tanh(s / cap), with tanh(x) = 1 - 2 / (1 + exp(2 x)).
        t = 1.0 - 2.0 / (1.0 + tl.exp2(s * (scale * (2 * LOG2E / SOFT_CAP))))
        s = t * (SOFT_CAP * LOG2E)
        steep = 1.0 - t * t
    elif EDGE or slope is not None or bias is not None:
        s = s * (scale * LOG2E)
    else:
        unit = scale * LOG2E
    if slope is not None:
        s -= slope * tl.abs(rows + (N - M) - columns).to(tl.float32)
    if bias is not None:
        inside = (rows < M) & (columns < N)
        at = rows.to(tl.int64) * stride_bias + columns
        s += tl.load(bias + at, mask=inside, other=0.0).to(tl.float32) * LOG2E
    if EDGE:
        s = tl.where(seen(rows, columns, M, N, CAUSAL, WINDOW), s, -float("inf"))
    return s, steep, unit


@triton.jit
def kept(seed, head, rows, columns, M, N, p):
    """The dropout mask of a tile: it depends on the element's place alone, so every pass finds it again."""
    row = head.to(tl.int64) * M + rows
    return tl.rand(seed, row[:, None] * N + columns[None, :]) > p


@triton.jit
def first_row(BLOCK_M: tl.constexpr, CAUSAL: tl.constexpr):
    """The first query of a program. Under CAUSAL those that see most come first, so that no long program is left at the end."""
    block = tl.program_id(0)
    if CAUSAL:
        block = tl.num_programs(0) - 1 - block
    return block * BLOCK_M


@triton.jit
def visible_keys(start_m, M, N, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, CAUSAL: tl.constexpr, WINDOW: tl.constexpr):
    """For BLOCK_M queries from `start_m` on: some see keys [first, last), all see [low, high). But for `last`, multiples of BLOCK_N."""
    last = N
    high = N
    if CAUSAL:
        last = min(N, max(start_m + BLOCK_M + N - M, 0))
        high = min(N, max(start_m + 1 + N - M, 0))
    elif WINDOW > 0:
        last = min(N, max(start_m + BLOCK_M - 1 + N - M + WINDOW, 0))
        high = min(N, max(start_m + N - M + WINDOW, 0))
    high = high // BLOCK_N * BLOCK_N
    first = 0
    low = 0
    if WINDOW > 0:
        first = min(max(start_m + N - M - WINDOW + 1, 0), last) // BLOCK_N * BLOCK_N
        high = max(high, first)
        low = min(tl.cdiv(max(start_m + BLOCK_M + N - M - WINDOW, 0), BLOCK_N) * BLOCK_N, high)
    return first, low, high, last


@triton.jit
def visible_queries(start_n, M, N, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, CAUSAL: tl.constexpr, WINDOW: tl.constexpr):
    """For BLOCK_N keys from `start_n` on: queries [first, last) see some of them, [low, high) all. Multiples of BLOCK_M where they are neither `last` nor M."""
    first = 0
    low = 0
    high = M
    last = M
    if CAUSAL:
        first = min(M, max(start_n - (N - M), 0)) // BLOCK_M * BLOCK_M
        low = tl.cdiv(min(M, max(start_n + BLOCK_N - 1 - (N - M), 0)), BLOCK_M) * BLOCK_M
    elif WINDOW > 0:
        first = min(M, max(start_n - (N - M) - WINDOW + 1, 0)) // BLOCK_M * BLOCK_M
        low = tl.cdiv(min(M, max(start_n + BLOCK_N - (N - M) - WINDOW, 0)), BLOCK_M) * BLOCK_M
    if WINDOW > 0:
        last = min(M, max(start_n + BLOCK_N - 1 - (N - M) + WINDOW, 0))
        high = max(min(M, max(start_n - (N - M) + WINDOW, 0)) // BLOCK_M * BLOCK_M, low)
    return first, low, high, last


@triton.jit
def scales_of_head(descale_ptr, scale, key_head):
    """The scale of scores and that of values. `key_head` counts through all sequences."""
    v_scale = 1.0
    if descale_ptr is not None:
        descale = descale_ptr + key_head * 3
        scale *= tl.load(descale) * tl.load(descale + 1)
        v_scale = tl.load(descale + 2)
    return scale, v_scale


@triton.jit
def weigh(s, unit, m, l, LIFT: tl.constexpr):
    """Takes scores into the running maximum m and sum l of each row. Gives their weights, and what sums before are to be multiplied by.

    Weights are relative to 2^(m - LIFT), so that those of a narrow type use its range up to 2^LIFT.
    """
    m_new = tl.maximum(m, tl.max(s, axis=1) * unit)
    shrink = tl.exp2(m - m_new)
    base = m_new - LIFT if LIFT > 0 else m_new
    weights = tl.exp2(s * unit - base[:, None])
    return weights, shrink, m_new, l * shrink + tl.sum(weights, axis=1)


@triton.jit
def total_and_lse(m, l, LIFT: tl.constexpr):
    """Of all weights of a row. A row that sees no key is 0, and its lse is -inf; a NaN stays one."""
    total = tl.where(l != 0, l, 1.0)
    if LIFT > 0:
        m -= LIFT
    return total, tl.where(l != 0, (m + tl.log2(total)) / LOG2E, -float("inf"))


@triton.jit
def attend(acc, m, l, q, k_base, v_base, bias, slope, head, rows, first, last, stride_kn, stride_vn, stride_bias, M, N, scale, p, seed,
           D: tl.constexpr, BLOCK_D: tl.constexpr, BLOCK_N: tl.constexpr,
           CAUSAL: tl.constexpr, DROPOUT: tl.constexpr, EDGE: tl.constexpr, PRECISION: tl.constexpr,
           WINDOW: tl.constexpr, SOFT_CAP: tl.constexpr, LIFT: tl.constexpr):
    """Takes keys [first, last) into the running maximum m, sum l and weighted values acc of each row."""
    for start in range(first, last, BLOCK_N):
        columns = start + tl.arange(0, BLOCK_N)
        k = load_rows(k_base, columns, stride_kn, N, D, BLOCK_D)
        s, steep, unit = log2_scores(q, k, bias, slope, rows, columns, stride_bias, M, N, scale, CAUSAL, EDGE, PRECISION, WINDOW, SOFT_CAP)
        weights, shrink, m, l = weigh(s, unit, m, l, LIFT)
        if DROPOUT:
            weights = tl.where(kept(seed, head, rows, columns, M, N, p), weights, 0.0)
        v = load_rows(v_base, columns, stride_vn, N, D, BLOCK_D)
        acc = tl.dot(weights.to(v.dtype), v, acc * shrink[:, None], input_precision=PRECISION)
    return acc, m, l


@triton.jit(do_not_specialize=["seed"])
def flash_forward(q_ptr, k_ptr, v_ptr, bias_ptr, out_ptr, lse_ptr,
                  stride_qb, stride_qh, stride_qm, stride_kb, stride_kh, stride_kn, stride_vb, stride_vh, stride_vn,
                  stride_bias_b, stride_bias_h, stride_bias_m, stride_ob, stride_oh, stride_om,
                  H, GROUP, M, N, scale, p, seed,
                  D: tl.constexpr, BLOCK_D: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr,
                  CAUSAL: tl.constexpr, DROPOUT: tl.constexpr, PRECISION: tl.constexpr,
                  slopes_ptr=None, cu_q_ptr=None, cu_k_ptr=None, descale_ptr=None,
                  WINDOW: tl.constexpr = 0, SOFT_CAP: tl.constexpr = 0.0):
    """BLOCK_M queries of one head a program. Stores the result and the logarithm of each row's sum of exponentials.

    `scale` is not negative. `slopes_ptr`: ALiBi, a slope for each head. `descale_ptr`: what q, k and v of fp8 are to be
    multiplied by, three numbers for each key head of each sequence.
    """
    start_m = first_row(BLOCK_M, CAUSAL)
    head = tl.program_id(1)
    b = (head // H).to(tl.int64)
    h = (head % H).to(tl.int64)
    rows = start_m + tl.arange(0, BLOCK_M)
    q_base = q_ptr + b * stride_qb + h * stride_qh
    k_base = k_ptr + b * stride_kb + (h // GROUP) * stride_kh
    v_base = v_ptr + b * stride_vb + (h // GROUP) * stride_vh
    out_base = out_ptr + b * stride_ob + h * stride_oh
    lse_base = lse_ptr + head.to(tl.int64) * M
    stride_lse = 1
    if cu_q_ptr is not None:
        first_q = tl.load(cu_q_ptr + b).to(tl.int64)
        first_k = tl.load(cu_k_ptr + b).to(tl.int64)
        M = (tl.load(cu_q_ptr + b + 1) - first_q).to(tl.int32)
        N = (tl.load(cu_k_ptr + b + 1) - first_k).to(tl.int32)
        if start_m >= M:
            return
        # A mask by place in M x N would repeat over sequences of different lengths.
        tl.static_assert(not DROPOUT and bias_ptr is None, "sequences of different lengths take neither dropout nor bias")
        q_base = q_ptr + first_q * stride_qm + h * stride_qh
        k_base = k_ptr + first_k * stride_kn + (h // GROUP) * stride_kh
        v_base = v_ptr + first_k * stride_vn + (h // GROUP) * stride_vh
        out_base = out_ptr + first_q * stride_om + h * stride_oh
        lse_base = lse_ptr + first_q * H + h
        stride_lse = H
    bias = None
    if bias_ptr is not None:
        bias = bias_ptr + b * stride_bias_b + h * stride_bias_h
    slope = None
    if slopes_ptr is not None:
        slope = tl.load(slopes_ptr + h) * LOG2E
    scale, v_scale = scales_of_head(descale_ptr, scale, head // GROUP)
    LIFT: tl.constexpr = 8.0 if v_ptr.dtype.element_ty.is_fp8() else 0.0
    q = load_rows(q_base, rows, stride_qm, M, D, BLOCK_D)

    m = tl.full([BLOCK_M], LOWEST, dtype=tl.float32)
    l = tl.zeros([BLOCK_M], dtype=tl.float32)
    acc = tl.zeros([BLOCK_M, BLOCK_D], dtype=tl.float32)

    first, low, high, last = visible_keys(start_m, M, N, BLOCK_M, BLOCK_N, CAUSAL, WINDOW)
    if WINDOW > 0:
        acc, m, l = attend(acc, m, l, q, k_base, v_base, bias, slope, head, rows, first, low, stride_kn, stride_vn, stride_bias_m, M, N,
                           scale, p, seed, D, BLOCK_D, BLOCK_N, CAUSAL, DROPOUT, True, PRECISION, WINDOW, SOFT_CAP, LIFT)
    acc, m, l = attend(acc, m, l, q, k_base, v_base, bias, slope, head, rows, low, high, stride_kn, stride_vn, stride_bias_m, M, N,
                       scale, p, seed, D, BLOCK_D, BLOCK_N, CAUSAL, DROPOUT, False, PRECISION, WINDOW, SOFT_CAP, LIFT)
    acc, m, l = attend(acc, m, l, q, k_base, v_base, bias, slope, head, rows, high, last, stride_kn, stride_vn, stride_bias_m, M, N,
                       scale, p, seed, D, BLOCK_D, BLOCK_N, CAUSAL, DROPOUT, True, PRECISION, WINDOW, SOFT_CAP, LIFT)

    total, lse = total_and_lse(m, l, LIFT)
    if DROPOUT:
        total = total * (1.0 - p)
    if descale_ptr is not None:
        acc *= v_scale
    store_rows(out_base, rows, stride_om, M, acc * (1.0 / total)[:, None], D, BLOCK_D)
    tl.store(lse_base + rows * stride_lse, lse, mask=rows < M)
