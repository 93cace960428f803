"""Several new queries a sequence against a paged cache that holds their keys too: a prompt taken in chunks."""
import triton
import triton.language as tl

from kernel import LOWEST, take_tokens


@triton.jit
def prefill(q_ptr, k_cache_ptr, v_cache_ptr, table_ptr, cu_q_ptr, lengths_ptr, out_ptr, k_scale_ptr, v_scale_ptr,
            KV, GROUP, scale, stride_page, stride_table, stride_q, D: tl.constexpr, BLOCK_D: tl.constexpr, BLOCK_M: tl.constexpr,
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
    q_at = (first_q + query).to(tl.int64) * stride_q + (key_head * GROUP + rows % GROUP) * D
    q = tl.load(q_ptr + q_at[:, None] + d[None, :], mask=inside, other=0.0)

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
