"""The backward pass with one visit to each pair of a query block and a key block: five products where two passes take seven.

As backward.py, but a program for BLOCK_N keys gives dQ its share too: the copy engine adds it to sums in f32,
whose order, and so whose last bits, differ from run to run. Scores lie turned, keys by queries, so that P and dS are the left
operands of dV and dK in the registers where they are computed.
"""
import triton
import triton.language as tl

from backward import load_log2_lse
from kernel import LOG2E, load_rows, log2_scores, seen, store_rows, visible_queries


@triton.jit
def row_facts(o_ptr, do_ptr, lse_ptr, delta_ptr, log2_lse_ptr, dq_sum_ptr, M, PADDED,
              D: tl.constexpr, BLOCK_D: tl.constexpr, BLOCK_M: tl.constexpr):
    """delta and log2 lse of a head's rows, a line of PADDED for each head, of which those behind the last row give probabilities of 0.
    Clears the sums of dQ."""
    rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    head = tl.program_id(1).to(tl.int64)
    o = load_rows(o_ptr + head * M * D, rows, D, M, D, BLOCK_D).to(tl.float32)
    do = load_rows(do_ptr + head * M * D, rows, D, M, D, BLOCK_D).to(tl.float32)
    tl.store(delta_ptr + head * PADDED + rows, tl.sum(o * do, axis=1), mask=rows < PADDED)
    tl.store(log2_lse_ptr + head * PADDED + rows, load_log2_lse(lse_ptr + head * M, rows, 1, M), mask=rows < PADDED)
    store_rows(dq_sum_ptr + head * M * D, rows, D, M, tl.zeros([BLOCK_M, BLOCK_D], dtype=tl.float32), D, BLOCK_D)


@triton.jit
def backward_one_pass(q_desc, k_desc, v_desc, do_desc, log2_lse_desc, delta_desc, dq_sum_desc, dk_desc, dv_desc, slopes_ptr, GROUP, M, N, scale,
                      BLOCK_D: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr,
                      CAUSAL: tl.constexpr, PRECISION: tl.constexpr, WINDOW: tl.constexpr = 0, SOFT_CAP: tl.constexpr = 0.0):
    """BLOCK_N keys of one key head a program, and the queries of all GROUP heads that read them.

    Blocks of the descriptors are [1, 1, rows, BLOCK_D], but for log2_lse and delta: [1, BLOCK_M] of [heads, rows].
    """
    start_n = tl.program_id(0) * BLOCK_N
    g = tl.program_id(1)
    b = tl.program_id(2)
    columns = start_n + tl.arange(0, BLOCK_N)
    k = k_desc.load([b, g, start_n, 0]).reshape([BLOCK_N, BLOCK_D])
    v = v_desc.load([b, g, start_n, 0]).reshape([BLOCK_N, BLOCK_D])
    dk = tl.zeros([BLOCK_N, BLOCK_D], dtype=tl.float32)
    dv = tl.zeros([BLOCK_N, BLOCK_D], dtype=tl.float32)

    first, low, high, last = visible_queries(start_n, M, N, BLOCK_M, BLOCK_N, CAUSAL, WINDOW)
    # Where keys are not there, all queries need the test: dQ must not take them.
    if start_n + BLOCK_N > N:
        low = last
        high = last
    for member in range(GROUP):
        h = g * GROUP + member
        head = b * tl.num_programs(1) * GROUP + h
        slope = None
        if slopes_ptr is not None:
            slope = tl.load(slopes_ptr + h) * LOG2E
        for start in range(first, last, BLOCK_M):
            rows = start + tl.arange(0, BLOCK_M)
            q = q_desc.load([b, h, start, 0]).reshape([BLOCK_M, BLOCK_D])
            do = do_desc.load([b, h, start, 0]).reshape([BLOCK_M, BLOCK_D])
            s, steep, unit = log2_scores(q, k, None, slope, rows, columns, 0, M, N, scale, CAUSAL, False, PRECISION, WINDOW, SOFT_CAP, TURNED=True)
            if start < low or start >= high:
                s = tl.where(seen(rows[None, :], columns[:, None], M, N, CAUSAL, WINDOW), s * unit, -float("inf"))
                unit = 1.0
            weights = tl.exp2(s * unit - log2_lse_desc.load([head, start]))
            dp = tl.dot(v, tl.trans(do), input_precision=PRECISION)
            dv = tl.dot(weights.to(do.dtype), do, dv, input_precision=PRECISION)
            ds = weights * (dp - delta_desc.load([head, start]))
            if SOFT_CAP > 0:
                ds *= steep
            ds = ds.to(q.dtype)
            dk = tl.dot(ds, q, dk, input_precision=PRECISION)
            dq = tl.dot(tl.trans(ds), k, input_precision=PRECISION)
            dq_sum_desc.atomic_add([b, h, start, 0], dq.reshape([1, 1, BLOCK_M, BLOCK_D]))
    dk_desc.store([b, g, start_n, 0], (dk * scale).to(dk_desc.dtype).reshape([1, 1, BLOCK_N, BLOCK_D]))
    dv_desc.store([b, g, start_n, 0], dv.to(dv_desc.dtype).reshape([1, 1, BLOCK_N, BLOCK_D]))


@triton.jit
def round_sums(sum_ptr, out_ptr, COUNT, scale, BLOCK: tl.constexpr):
    """scale times the sums of dQ, in its own type."""
    i = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    inside = i < COUNT
    tl.store(out_ptr + i, (tl.load(sum_ptr + i, mask=inside) * scale).to(out_ptr.dtype.element_ty), mask=inside)
