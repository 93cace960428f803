"""Attention as the formula says it, one kernel a step, with its M x N matrices in memory.

What flash attention is measured against. Tensors are contiguous [batch, head, sequence, D]; query
head h reads key head h // GROUP; under CAUSAL query i sees key j when j <= i + N - M.
"""
import triton
import triton.language as tl


@triton.jit
def scores(q_ptr, k_ptr, s_ptr, H, GROUP, M, N, scale, D: tl.constexpr, BLOCK_D: tl.constexpr,
           BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, PRECISION: tl.constexpr):
    """S = scale * Q K^T."""
    head = tl.program_id(2).to(tl.int64)
    rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    columns = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    d = tl.arange(0, BLOCK_D)
    q = tl.load(q_ptr + head * M * D + rows[:, None] * D + d[None, :],
                mask=(rows[:, None] < M) & (d[None, :] < D), other=0.0)
    k = tl.load(k_ptr + head // GROUP * N * D + columns[None, :] * D + d[:, None],
                mask=(columns[None, :] < N) & (d[:, None] < D), other=0.0)
    s = tl.dot(q, k, input_precision=PRECISION) * scale
    at = head * M * N + rows.to(tl.int64)[:, None] * N + columns[None, :]
    tl.store(s_ptr + at, s, mask=(rows[:, None] < M) & (columns[None, :] < N))


@triton.jit
def apply_mask(s_ptr, bias_ptr, H, M, N, stride_bias_b, stride_bias_h, stride_bias_m,
               BLOCK: tl.constexpr, CAUSAL: tl.constexpr):
    """Adds the bias to S, and puts -inf where a query may not see a key; in place, a piece of a row a program."""
    row = tl.program_id(0)
    head = tl.program_id(2)
    columns = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    inside = columns < N
    at = (head.to(tl.int64) * M + row) * N + columns
    s = tl.load(s_ptr + at, mask=inside, other=0.0)
    if bias_ptr is not None:
        bias_row = bias_ptr + (head // H).to(tl.int64) * stride_bias_b + (head % H).to(tl.int64) * stride_bias_h
        s += tl.load(bias_row + row.to(tl.int64) * stride_bias_m + columns, mask=inside, other=0.0).to(tl.float32)
    if CAUSAL:
        s = tl.where(columns <= row + (N - M), s, -float("inf"))
    tl.store(s_ptr + at, s, mask=inside)


@triton.jit
def softmax(s_ptr, p_ptr, lse_ptr, N, BLOCK: tl.constexpr):
    """Rows of S to rows of P, and each row's lse; a row of -inf becomes 0, and its lse -inf."""
    row = tl.program_id(0).to(tl.int64)
    columns = tl.arange(0, BLOCK)
    inside = columns < N
    s = tl.load(s_ptr + row * N + columns, mask=inside, other=-float("inf"))
    peak = tl.max(s, axis=0)
    peak = tl.where(peak == -float("inf"), 0.0, peak)
    e = tl.exp(s - peak)
    total = tl.sum(e, axis=0)
    safe = tl.where(total != 0, total, 1.0)
    tl.store(p_ptr + row * N + columns, (e / safe).to(p_ptr.dtype.element_ty), mask=inside)
    tl.store(lse_ptr + row, tl.where(total != 0, peak + tl.log(safe), -float("inf")))


@triton.jit
def dropout(p_ptr, n, p, seed, BLOCK: tl.constexpr):
    """In place on P."""
    offsets = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    inside = offsets < n
    weights = tl.load(p_ptr + offsets, mask=inside, other=0.0).to(tl.float32)
    weights = tl.where(tl.rand(seed, offsets) > p, weights / (1.0 - p), 0.0)
    tl.store(p_ptr + offsets, weights.to(p_ptr.dtype.element_ty), mask=inside)


@triton.jit
def weighted_values(p_ptr, v_ptr, out_ptr, H, GROUP, M, N, D: tl.constexpr, BLOCK_D: tl.constexpr,
                    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, PRECISION: tl.constexpr):
    """O = P V."""
    head = tl.program_id(1).to(tl.int64)
    rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    d = tl.arange(0, BLOCK_D)
    acc = tl.zeros([BLOCK_M, BLOCK_D], dtype=tl.float32)
    for start in range(0, N, BLOCK_N):
        columns = start + tl.arange(0, BLOCK_N)
        weights = tl.load(p_ptr + (head * M + rows[:, None]) * N + columns[None, :],
                          mask=(rows[:, None] < M) & (columns[None, :] < N), other=0.0)
        v = tl.load(v_ptr + head // GROUP * N * D + columns[:, None] * D + d[None, :],
                    mask=(columns[:, None] < N) & (d[None, :] < D), other=0.0)
        acc = tl.dot(weights, v, acc, input_precision=PRECISION)
    tl.store(out_ptr + head * M * D + rows[:, None] * D + d[None, :], acc.to(out_ptr.dtype.element_ty),
             mask=(rows[:, None] < M) & (d[None, :] < D))
