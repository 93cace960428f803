"""Attention without its N x N matrix, backward.

With P the probabilities, Z the scaled dropout mask, dP = Z * (dO V^T) and delta = rowsum(dO * O):
    dS = P * (dP - delta)    dV = (P * Z)^T dO    dQ = scale * dS K    dK = scale * dS^T Q
P is computed again, tile by tile, from the scores and the rows' lse. dK and dV belong to one
program for each block of keys, dQ to one for each block of queries: no atomics, so the same bits
each time. All of q, k, v, o and their gradients are contiguous here: [batch, head, sequence, D], or
[token, head, D] where `cu_q_ptr` and `cu_k_ptr` say where each sequence begins.
"""
import triton
import triton.language as tl

from kernel import LOG2E, first_row, kept, load_rows, log2_scores, store_rows, visible_keys, visible_queries


@triton.jit
def row_delta(o_ptr, do_ptr, delta_ptr, ROWS, D: tl.constexpr, BLOCK_D: tl.constexpr, BLOCK_M: tl.constexpr):
    """delta of each row of all heads."""
    rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    o = load_rows(o_ptr, rows, D, ROWS, D, BLOCK_D).to(tl.float32)
    do = load_rows(do_ptr, rows, D, ROWS, D, BLOCK_D).to(tl.float32)
    tl.store(delta_ptr + rows, tl.sum(o * do, axis=1), mask=rows < ROWS)


@triton.jit
def load_log2_lse(lse_ptr, rows, stride, M):
    """+inf where a row sees no key or is not there: exp2(s - inf) is then 0, as its probabilities are."""
    lse = tl.load(lse_ptr + rows * stride, mask=rows < M, other=float("inf"))
    return tl.where(lse == -float("inf"), float("inf"), lse * LOG2E)


@triton.jit
def score_gradient(q, k, v, do, lse, delta, bias, slope, head, rows, columns, stride_bias, M, N, scale, p, seed,
                   CAUSAL: tl.constexpr, DROPOUT: tl.constexpr, EDGE: tl.constexpr, PRECISION: tl.constexpr,
                   WINDOW: tl.constexpr, SOFT_CAP: tl.constexpr):
    """Of one tile: the probabilities after dropout, and dS."""
    s, steep, unit = log2_scores(q, k, bias, slope, rows, columns, stride_bias, M, N, scale, CAUSAL, EDGE, PRECISION, WINDOW, SOFT_CAP)
    weights = tl.exp2(s * unit - lse[:, None])
    dp = tl.dot(do, tl.trans(v), input_precision=PRECISION)
    dropped = weights
    if DROPOUT:
        keep = kept(seed, head, rows, columns, M, N, p)
        dropped = tl.where(keep, weights / (1.0 - p), 0.0)
        dp = tl.where(keep, dp / (1.0 - p), 0.0)
    ds = weights * (dp - delta[:, None])
    if SOFT_CAP > 0:
        ds *= steep
    return dropped, ds


@triton.jit
def add_to_dk_dv(dk, dv, k, v, q_base, do_base, lse_base, delta_base, bias, slope, head, columns, first, last,
                 stride_q, stride_lse, stride_bias, M, N, scale, p, seed, D: tl.constexpr, BLOCK_D: tl.constexpr, BLOCK_M: tl.constexpr,
                 CAUSAL: tl.constexpr, DROPOUT: tl.constexpr, EDGE: tl.constexpr, PRECISION: tl.constexpr,
                 WINDOW: tl.constexpr, SOFT_CAP: tl.constexpr):
    """Adds what queries [first, last) of one head give."""
    for start in range(first, last, BLOCK_M):
        rows = start + tl.arange(0, BLOCK_M)
        q = load_rows(q_base, rows, stride_q, M, D, BLOCK_D)
        do = load_rows(do_base, rows, stride_q, M, D, BLOCK_D)
        lse = load_log2_lse(lse_base, rows, stride_lse, M)
        delta = tl.load(delta_base + rows * stride_lse, mask=rows < M, other=0.0)
        dropped, ds = score_gradient(q, k, v, do, lse, delta, bias, slope, head, rows, columns, stride_bias, M, N, scale, p, seed,
                                     CAUSAL, DROPOUT, EDGE, PRECISION, WINDOW, SOFT_CAP)
        dv = tl.dot(tl.trans(dropped).to(do.dtype), do, dv, input_precision=PRECISION)
        dk = tl.dot(tl.trans(ds).to(q.dtype), q, dk, input_precision=PRECISION)
    return dk, dv


@triton.jit(do_not_specialize=["seed"])
def backward_dk_dv(q_ptr, k_ptr, v_ptr, bias_ptr, do_ptr, lse_ptr, delta_ptr, dk_ptr, dv_ptr,
                   stride_bias_b, stride_bias_h, stride_bias_m, H, GROUP, M, N, scale, p, seed,
                   D: tl.constexpr, BLOCK_D: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr,
                   CAUSAL: tl.constexpr, DROPOUT: tl.constexpr, PRECISION: tl.constexpr,
                   slopes_ptr=None, cu_q_ptr=None, cu_k_ptr=None, WINDOW: tl.constexpr = 0, SOFT_CAP: tl.constexpr = 0.0):
    """BLOCK_N keys of one key head a program; sums over the queries of all GROUP heads that read them."""
    start_n = tl.program_id(0) * BLOCK_N
    key_head = tl.program_id(1)
    b = key_head // (H // GROUP)
    columns = start_n + tl.arange(0, BLOCK_N)
    at = key_head.to(tl.int64) * N * D
    stride_q = D
    stride_k = D
    stride_lse = 1
    if cu_q_ptr is not None:
        KV = H // GROUP
        first_q = tl.load(cu_q_ptr + b).to(tl.int64)
        first_k = tl.load(cu_k_ptr + b).to(tl.int64)
        M = (tl.load(cu_q_ptr + b + 1) - first_q).to(tl.int32)
        N = (tl.load(cu_k_ptr + b + 1) - first_k).to(tl.int32)
        if start_n >= N:
            return
        at = (first_k * KV + key_head % KV) * D
        stride_q = H * D
        stride_k = KV * D
        stride_lse = H
    k = load_rows(k_ptr + at, columns, stride_k, N, D, BLOCK_D)
    v = load_rows(v_ptr + at, columns, stride_k, N, D, BLOCK_D)
    dk = tl.zeros([BLOCK_N, BLOCK_D], dtype=tl.float32)
    dv = tl.zeros([BLOCK_N, BLOCK_D], dtype=tl.float32)

    # Keys that are not there give rows of dk and dv that are never stored, so they need no test.
    first, low, high, last = visible_queries(start_n, M, N, BLOCK_M, BLOCK_N, CAUSAL, WINDOW)
    for member in range(GROUP):
        head = key_head * GROUP + member
        rows_before = head.to(tl.int64) * M
        if cu_q_ptr is not None:
            rows_before = first_q * H + head % H
        bias = None
        if bias_ptr is not None:
            bias = bias_ptr + b.to(tl.int64) * stride_bias_b + (head % H).to(tl.int64) * stride_bias_h
        slope = None
        if slopes_ptr is not None:
            slope = tl.load(slopes_ptr + head % H) * LOG2E
        q_base = q_ptr + rows_before * D
        do_base = do_ptr + rows_before * D
        dk, dv = add_to_dk_dv(dk, dv, k, v, q_base, do_base, lse_ptr + rows_before, delta_ptr + rows_before, bias, slope, head, columns,
                              first, low, stride_q, stride_lse, stride_bias_m, M, N, scale, p, seed, D, BLOCK_D, BLOCK_M,
                              CAUSAL, DROPOUT, True, PRECISION, WINDOW, SOFT_CAP)
        dk, dv = add_to_dk_dv(dk, dv, k, v, q_base, do_base, lse_ptr + rows_before, delta_ptr + rows_before, bias, slope, head, columns,
                              low, high, stride_q, stride_lse, stride_bias_m, M, N, scale, p, seed, D, BLOCK_D, BLOCK_M,
                              CAUSAL, DROPOUT, False, PRECISION, WINDOW, SOFT_CAP)
        if WINDOW > 0:
            dk, dv = add_to_dk_dv(dk, dv, k, v, q_base, do_base, lse_ptr + rows_before, delta_ptr + rows_before, bias, slope, head, columns,
                                  high, last, stride_q, stride_lse, stride_bias_m, M, N, scale, p, seed, D, BLOCK_D, BLOCK_M,
                                  CAUSAL, DROPOUT, True, PRECISION, WINDOW, SOFT_CAP)
    store_rows(dk_ptr + at, columns, stride_k, N, dk * scale, D, BLOCK_D)
    store_rows(dv_ptr + at, columns, stride_k, N, dv, D, BLOCK_D)


@triton.jit
def add_to_dq(dq, q, do, lse, delta, k_base, v_base, bias, slope, head, rows, first, last, stride_k, stride_bias, M, N, scale, p, seed,
              D: tl.constexpr, BLOCK_D: tl.constexpr, BLOCK_N: tl.constexpr,
              CAUSAL: tl.constexpr, DROPOUT: tl.constexpr, EDGE: tl.constexpr, PRECISION: tl.constexpr,
              WINDOW: tl.constexpr, SOFT_CAP: tl.constexpr):
    """Adds what keys [first, last) give."""
    for start in range(first, last, BLOCK_N):
        columns = start + tl.arange(0, BLOCK_N)
        k = load_rows(k_base, columns, stride_k, N, D, BLOCK_D)
        v = load_rows(v_base, columns, stride_k, N, D, BLOCK_D)
        dropped, ds = score_gradient(q, k, v, do, lse, delta, bias, slope, head, rows, columns, stride_bias, M, N, scale, p, seed,
                                     CAUSAL, DROPOUT, EDGE, PRECISION, WINDOW, SOFT_CAP)
        dq = tl.dot(ds.to(k.dtype), k, dq, input_precision=PRECISION)
    return dq


@triton.jit(do_not_specialize=["seed"])
def backward_dq(q_ptr, k_ptr, v_ptr, bias_ptr, do_ptr, lse_ptr, delta_ptr, dq_ptr,
                stride_bias_b, stride_bias_h, stride_bias_m, H, GROUP, M, N, scale, p, seed,
                D: tl.constexpr, BLOCK_D: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr,
                CAUSAL: tl.constexpr, DROPOUT: tl.constexpr, PRECISION: tl.constexpr,
                slopes_ptr=None, cu_q_ptr=None, cu_k_ptr=None, WINDOW: tl.constexpr = 0, SOFT_CAP: tl.constexpr = 0.0):
    """BLOCK_M queries of one head a program."""
    start_m = first_row(BLOCK_M, CAUSAL)
    head = tl.program_id(1)
    rows = start_m + tl.arange(0, BLOCK_M)
    rows_before = head.to(tl.int64) * M
    keys_before = (head // GROUP).to(tl.int64) * N
    stride_q = D
    stride_k = D
    stride_lse = 1
    if cu_q_ptr is not None:
        KV = H // GROUP
        first_q = tl.load(cu_q_ptr + head // H).to(tl.int64)
        first_k = tl.load(cu_k_ptr + head // H).to(tl.int64)
        M = (tl.load(cu_q_ptr + head // H + 1) - first_q).to(tl.int32)
        N = (tl.load(cu_k_ptr + head // H + 1) - first_k).to(tl.int32)
        if start_m >= M:
            return
        rows_before = first_q * H + head % H
        keys_before = first_k * KV + head % H // GROUP
        stride_q = H * D
        stride_k = KV * D
        stride_lse = H
    bias = None
    if bias_ptr is not None:
        bias = bias_ptr + (head // H).to(tl.int64) * stride_bias_b + (head % H).to(tl.int64) * stride_bias_h
    slope = None
    if slopes_ptr is not None:
        slope = tl.load(slopes_ptr + head % H) * LOG2E
    q = load_rows(q_ptr + rows_before * D, rows, stride_q, M, D, BLOCK_D)
    do = load_rows(do_ptr + rows_before * D, rows, stride_q, M, D, BLOCK_D)
    lse = load_log2_lse(lse_ptr + rows_before, rows, stride_lse, M)
    delta = tl.load(delta_ptr + rows_before + rows * stride_lse, mask=rows < M, other=0.0)
    dq = tl.zeros([BLOCK_M, BLOCK_D], dtype=tl.float32)

    k_base = k_ptr + keys_before * D
    v_base = v_ptr + keys_before * D
    first, low, high, last = visible_keys(start_m, M, N, BLOCK_M, BLOCK_N, CAUSAL, WINDOW)
    if WINDOW > 0:
        dq = add_to_dq(dq, q, do, lse, delta, k_base, v_base, bias, slope, head, rows, first, low, stride_k, stride_bias_m, M, N,
                       scale, p, seed, D, BLOCK_D, BLOCK_N, CAUSAL, DROPOUT, True, PRECISION, WINDOW, SOFT_CAP)
    dq = add_to_dq(dq, q, do, lse, delta, k_base, v_base, bias, slope, head, rows, low, high, stride_k, stride_bias_m, M, N,
                   scale, p, seed, D, BLOCK_D, BLOCK_N, CAUSAL, DROPOUT, False, PRECISION, WINDOW, SOFT_CAP)
    dq = add_to_dq(dq, q, do, lse, delta, k_base, v_base, bias, slope, head, rows, high, last, stride_k, stride_bias_m, M, N,
                   scale, p, seed, D, BLOCK_D, BLOCK_N, CAUSAL, DROPOUT, True, PRECISION, WINDOW, SOFT_CAP)
    store_rows(dq_ptr + rows_before * D, rows, stride_q, M, dq * scale, D, BLOCK_D)
