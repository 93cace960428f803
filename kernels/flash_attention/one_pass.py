"""The backward pass with one visit to each pair of a query block and a key block: five products where two passes take seven.

As backward.py, but a program for BLOCK_N keys gives dQ its share too: the copy engine adds it to sums in f32,
whose order, and so whose last bits, differ from run to run. Scores lie turned, keys by queries, so that P and dS are the left
operands of dV and dK in the registers where they are computed.
"""
import triton
import triton.language as tl

from backward import load_log2_lse
from kernel import LOG2E, load_rows, log2_scores, store_rows, visible_queries


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
def visit(dk, dv, k, v, queries, gradients, lse_line, delta_line, dq_sums, slope, columns, first, last, M, N, scale,
          BLOCK_M: tl.constexpr, CAUSAL: tl.constexpr, EDGE: tl.constexpr, PRECISION: tl.constexpr,
          WINDOW: tl.constexpr, SOFT_CAP: tl.constexpr):
    """Queries [first, last) of one head."""
    for start in range(first, last, BLOCK_M):
        rows = start + tl.arange(0, BLOCK_M)
        q = queries.load([start, 0])
        do = gradients.load([start, 0])
        s, steep, unit = log2_scores(q, k, None, slope, rows, columns, 0, M, N, scale, CAUSAL, EDGE, PRECISION, WINDOW, SOFT_CAP, TURNED=True)
        weights = tl.exp2(s * unit - lse_line.load([0, start]))
        dp = tl.dot(v, tl.trans(do), input_precision=PRECISION)
        dv = tl.dot(weights.to(do.dtype), do, dv, input_precision=PRECISION)
        ds = weights * (dp - delta_line.load([0, start]))
        if SOFT_CAP > 0:
            ds *= steep
        ds = ds.to(q.dtype)
        dk = tl.dot(ds, q, dk, input_precision=PRECISION)
        dq_sums.atomic_add([start, 0], tl.dot(tl.trans(ds), k, input_precision=PRECISION))
    return dk, dv


@triton.jit
def backward_one_pass(q_ptr, k_ptr, v_ptr, do_ptr, log2_lse_ptr, delta_ptr, dq_sum_ptr, dk_ptr, dv_ptr, H, GROUP, M, N, PADDED, scale,
                      D: tl.constexpr, BLOCK_D: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr,
                      CAUSAL: tl.constexpr, PRECISION: tl.constexpr,
                      slopes_ptr=None, WINDOW: tl.constexpr = 0, SOFT_CAP: tl.constexpr = 0.0):
    """BLOCK_N keys of one key head a program, and the queries of all GROUP heads that read them."""
    start_n = tl.program_id(0) * BLOCK_N
    key_head = tl.program_id(1)
    columns = start_n + tl.arange(0, BLOCK_N)
    at = key_head.to(tl.int64) * N * D
    k = tl.make_tensor_descriptor(k_ptr + at, [N, D], [D, 1], [BLOCK_N, BLOCK_D]).load([start_n, 0])
    v = tl.make_tensor_descriptor(v_ptr + at, [N, D], [D, 1], [BLOCK_N, BLOCK_D]).load([start_n, 0])
    dk = tl.zeros([BLOCK_N, BLOCK_D], dtype=tl.float32)
    dv = tl.zeros([BLOCK_N, BLOCK_D], dtype=tl.float32)

    first, low, high, last = visible_queries(start_n, M, N, BLOCK_M, BLOCK_N, CAUSAL, WINDOW)
    # Where keys are not there, all queries need the test: dQ must not take them.
    if start_n + BLOCK_N > N:
        low = last
        high = last
    for member in range(GROUP):
        head = key_head * GROUP + member
        before = head.to(tl.int64) * M * D
        slope = None
        if slopes_ptr is not None:
            slope = tl.load(slopes_ptr + head % H) * LOG2E
        queries = tl.make_tensor_descriptor(q_ptr + before, [M, D], [D, 1], [BLOCK_M, BLOCK_D])
        gradients = tl.make_tensor_descriptor(do_ptr + before, [M, D], [D, 1], [BLOCK_M, BLOCK_D])
        dq_sums = tl.make_tensor_descriptor(dq_sum_ptr + before, [M, D], [D, 1], [BLOCK_M, BLOCK_D])
        line = head.to(tl.int64) * PADDED
        lse_line = tl.make_tensor_descriptor(log2_lse_ptr + line, [1, PADDED], [PADDED, 1], [1, BLOCK_M])
        delta_line = tl.make_tensor_descriptor(delta_ptr + line, [1, PADDED], [PADDED, 1], [1, BLOCK_M])
        dk, dv = visit(dk, dv, k, v, queries, gradients, lse_line, delta_line, dq_sums, slope, columns, first, low, M, N, scale,
                       BLOCK_M, CAUSAL, True, PRECISION, WINDOW, SOFT_CAP)
        dk, dv = visit(dk, dv, k, v, queries, gradients, lse_line, delta_line, dq_sums, slope, columns, low, high, M, N, scale,
                       BLOCK_M, CAUSAL, False, PRECISION, WINDOW, SOFT_CAP)
        if WINDOW > 0:
            dk, dv = visit(dk, dv, k, v, queries, gradients, lse_line, delta_line, dq_sums, slope, columns, high, last, M, N, scale,
                           BLOCK_M, CAUSAL, True, PRECISION, WINDOW, SOFT_CAP)
    store_rows(dk_ptr + at, columns, D, N, dk * scale, D, BLOCK_D)
    store_rows(dv_ptr + at, columns, D, N, dv, D, BLOCK_D)


@triton.jit
def round_sums(sum_ptr, out_ptr, COUNT, scale, BLOCK: tl.constexpr):
    """scale times the sums of dQ, in its own type."""
    i = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    inside = i < COUNT
    tl.store(out_ptr + i, (tl.load(sum_ptr + i, mask=inside) * scale).to(out_ptr.dtype.element_ty), mask=inside)
