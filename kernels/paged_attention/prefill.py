"""Several new queries a sequence against a paged cache that holds their keys too: a prompt taken in chunks."""
import triton
import triton.language as tl

from kernel import LOG2E, LOWEST


@triton.jit
def take_tokens(acc, m, l, q, k_cache_ptr, v_cache_ptr, table_row, key_head, positions, first, last, KV, scale, stride_page,
                k_scale_ptr, v_scale_ptr, D: tl.constexpr, BLOCK_D: tl.constexpr, PAGE: tl.constexpr, BLOCK_N: tl.constexpr,
                EDGE: tl.constexpr, PRECISION: tl.constexpr):
    """Tokens [first, last); those of EDGE blocks may lie behind a query's position, others need no test."""
    d = tl.arange(0, BLOCK_D)
    for start in range(first, last, BLOCK_N):
        tokens = start + tl.arange(0, BLOCK_N)
        inside = tokens < last
        page = tl.load(table_row + tokens // PAGE, mask=inside, other=0).to(tl.int64)
        at = page * stride_page + ((tokens % PAGE) * KV + key_head) * D
        present = inside[:, None] & (d[None, :] < D)
        k = tl.load(k_cache_ptr + at[:, None] + d[None, :], mask=present, other=0.0)
        s = tl.dot(q, tl.trans(k.to(q.dtype)), input_precision=PRECISION) * (scale * LOG2E)
        if k_scale_ptr is not None:
            s *= tl.load(k_scale_ptr + at // D, mask=inside, other=0.0)[None, :]
        if EDGE:
            s = tl.where(tokens[None, :] <= positions[:, None], s, -float("inf"))
        m_new = tl.maximum(m, tl.max(s, axis=1))
        shrink = tl.exp2(m - m_new)
        weights = tl.exp2(s - m_new[:, None])
        l = l * shrink + tl.sum(weights, axis=1)
        v = tl.load(v_cache_ptr + at[:, None] + d[None, :], mask=present, other=0.0)
        if v_scale_ptr is not None:
            weights *= tl.load(v_scale_ptr + at // D, mask=inside, other=0.0)[None, :]
        acc = tl.dot(weights.to(q.dtype), v.to(q.dtype), acc * shrink[:, None], input_precision=PRECISION)
        m = m_new
    return acc, m, l


@triton.jit
def prefill(q_ptr, k_cache_ptr, v_cache_ptr, table_ptr, cu_q_ptr, lengths_ptr, out_ptr, k_scale_ptr, v_scale_ptr,
            KV, GROUP, scale, stride_page, stride_table, D: tl.constexpr, BLOCK_D: tl.constexpr, BLOCK_M: tl.constexpr,
            PAGE: tl.constexpr, BLOCK_N: tl.constexpr, PRECISION: tl.constexpr):
    """BLOCK_M rows of one key head of one sequence a program: a row is one query of one of its GROUP heads.

    Queries are [token, head, D], sequences one after another from `cu_q_ptr`; a sequence's last query is
    at position length - 1, and each query sees the cache up to its own position.
    """
    start = tl.program_id(0) * BLOCK_M
    sequence = tl.program_id(1)
    key_head = tl.program_id(2)
    first_q = tl.load(cu_q_ptr + sequence)
    queries = tl.load(cu_q_ptr + sequence + 1) - first_q
    if start >= queries * GROUP:
        return
    before = tl.load(lengths_ptr + sequence) - queries
    rows = start + tl.arange(0, BLOCK_M)
    query = rows // GROUP
    positions = before + query
    d = tl.arange(0, BLOCK_D)
    place = ((first_q + query).to(tl.int64) * KV + key_head) * GROUP + rows % GROUP
    inside = (query[:, None] < queries) & (d[None, :] < D)
    q = tl.load(q_ptr + place[:, None] * D + d[None, :], mask=inside, other=0.0)

    m = tl.full([BLOCK_M], LOWEST, dtype=tl.float32)
    l = tl.zeros([BLOCK_M], dtype=tl.float32)
    acc = tl.zeros([BLOCK_M, BLOCK_D], dtype=tl.float32)
    table_row = table_ptr + sequence * stride_table
    # Tokens in [0, seen) are visible to all rows, those in [seen, last) to some.
    seen = (before + start // GROUP + 1) // BLOCK_N * BLOCK_N
    last = min(before + (start + BLOCK_M - 1) // GROUP, before + queries - 1) + 1
    acc, m, l = take_tokens(acc, m, l, q, k_cache_ptr, v_cache_ptr, table_row, key_head, positions, 0, seen, KV, scale, stride_page,
                            k_scale_ptr, v_scale_ptr, D, BLOCK_D, PAGE, BLOCK_N, False, PRECISION)
    acc, m, l = take_tokens(acc, m, l, q, k_cache_ptr, v_cache_ptr, table_row, key_head, positions, seen, last, KV, scale, stride_page,
                            k_scale_ptr, v_scale_ptr, D, BLOCK_D, PAGE, BLOCK_N, True, PRECISION)
    tl.store(out_ptr + place[:, None] * D + d[None, :], (acc / l[:, None]).to(out_ptr.dtype.element_ty), mask=inside)
