"""Decoding over a paged cache: one new query a sequence, keys and values in pages of PAGE tokens.

The cache is [page, PAGE, key head, D]; `table` names the pages of each sequence in order. The GROUP
query heads that share a key head are the rows of one small matrix product, so that each page is read
once for all of them. GROUP is filled up to 16 rows, the least that a matrix unit takes.

A cache of int8 or fp8 has a scale for each token and key head, [page, PAGE, key head]. Keys' scales
multiply the scores and values' scales the weights, so that no element of the cache is touched for them.
"""
import triton
import triton.language as tl

LOG2E = tl.constexpr(1.4426950408889634)
LOWEST = tl.constexpr(-3.4028234663852886e38)
# Which lines leave the second-level cache.
AS_USUAL = tl.constexpr("")
FIRST = tl.constexpr("evict_first")


@triton.jit
def take_tokens(acc, m, l, q, k_cache_ptr, v_cache_ptr, table_row, key_head, positions, first, last, KV, scale, stride_page,
                k_scale_ptr, v_scale_ptr, D: tl.constexpr, BLOCK_D: tl.constexpr, PAGE: tl.constexpr, BLOCK_N: tl.constexpr,
                EDGE: tl.constexpr, PRECISION: tl.constexpr, EVICT: tl.constexpr = AS_USUAL):
    """Folds tokens [first, last) of a table's row into weighted values, maximum and sum of each query.

    EVICT says how long the cache's lines are wanted. Tokens of EDGE blocks may lie behind a query's position, others need no test; without positions each query sees them all.
    """
    d = tl.arange(0, BLOCK_D)
    for start in range(first, last, BLOCK_N):
        tokens = start + tl.arange(0, BLOCK_N)
        inside = tokens < last
        page = tl.load(table_row + tokens // PAGE, mask=inside, other=0).to(tl.int64)
        at = page * stride_page + ((tokens % PAGE) * KV + key_head) * D
        present = inside[:, None] & (d[None, :] < D)
        k = tl.load(k_cache_ptr + at[:, None] + d[None, :], mask=present, other=0.0, eviction_policy=EVICT)
        s = tl.dot(q, tl.trans(k.to(q.dtype)), input_precision=PRECISION) * (scale * LOG2E)
        if k_scale_ptr is not None:
            s *= tl.load(k_scale_ptr + at // D, mask=inside, other=0.0)[None, :]
        if positions is None:
            s = tl.where(inside[None, :], s, -float("inf"))
        elif EDGE:
            s = tl.where(tokens[None, :] <= positions[:, None], s, -float("inf"))
        m_new = tl.maximum(m, tl.max(s, axis=1))
        shrink = tl.exp2(m - m_new)
        weights = tl.exp2(s - m_new[:, None])
        l = l * shrink + tl.sum(weights, axis=1)
        v = tl.load(v_cache_ptr + at[:, None] + d[None, :], mask=present, other=0.0, eviction_policy=EVICT)
        if v_scale_ptr is not None:
            weights *= tl.load(v_scale_ptr + at // D, mask=inside, other=0.0)[None, :]
        acc = tl.dot(weights.to(q.dtype), v.to(q.dtype), acc * shrink[:, None], input_precision=PRECISION)
        m = m_new
    return acc, m, l


@triton.jit
def attend_rows(q_ptr, q_at, asked, k_cache_ptr, v_cache_ptr, table_row, key_head, first, last, KV, scale, stride_page,
                D: tl.constexpr, BLOCK_D: tl.constexpr, PAGE: tl.constexpr, BLOCK_N: tl.constexpr, PRECISION: tl.constexpr,
                k_scale_ptr=None, v_scale_ptr=None, EVICT: tl.constexpr = AS_USUAL):
    """Tokens [first, last) of a table's row: weighted values, maximum and sum for each of the query heads, at `q_at`, that are asked for."""
    d = tl.arange(0, BLOCK_D)
    q = tl.load(q_ptr + q_at[:, None] + d[None, :], mask=asked[:, None] & (d[None, :] < D), other=0.0)
    return attend(q, k_cache_ptr, v_cache_ptr, table_row, key_head, first, last, KV, scale, stride_page, D, BLOCK_D, PAGE, BLOCK_N, PRECISION,
                  k_scale_ptr, v_scale_ptr, EVICT)


@triton.jit
def attend(q, k_cache_ptr, v_cache_ptr, table_row, key_head, first, last, KV, scale, stride_page,
           D: tl.constexpr, BLOCK_D: tl.constexpr, PAGE: tl.constexpr, BLOCK_N: tl.constexpr, PRECISION: tl.constexpr,
           k_scale_ptr=None, v_scale_ptr=None, EVICT: tl.constexpr = AS_USUAL):
    """The same for queries that were loaded before."""
    m = tl.full([q.shape[0]], LOWEST, dtype=tl.float32)
    l = tl.zeros([q.shape[0]], dtype=tl.float32)
    acc = tl.zeros([q.shape[0], BLOCK_D], dtype=tl.float32)
    return take_tokens(acc, m, l, q, k_cache_ptr, v_cache_ptr, table_row, key_head, None, first, last, KV, scale, stride_page,
                       k_scale_ptr, v_scale_ptr, D, BLOCK_D, PAGE, BLOCK_N, False, PRECISION, EVICT)


@triton.jit
def attend_tokens(q_ptr, k_cache_ptr, v_cache_ptr, table_row, sequence, key_head, first, last, KV, GROUP, scale,
                  stride_page, stride_q, D: tl.constexpr, BLOCK_D: tl.constexpr, BLOCK_G: tl.constexpr, PAGE: tl.constexpr,
                  BLOCK_N: tl.constexpr, PRECISION: tl.constexpr, k_scale_ptr=None, v_scale_ptr=None):
    """The same for the heads of one group in one sequence."""
    members = tl.arange(0, BLOCK_G)
    q_at = sequence.to(tl.int64) * stride_q + (key_head * GROUP + members) * D
    return attend_rows(q_ptr, q_at, members < GROUP, k_cache_ptr, v_cache_ptr, table_row, key_head, first, last, KV, scale, stride_page,
                       D, BLOCK_D, PAGE, BLOCK_N, PRECISION, k_scale_ptr, v_scale_ptr)


@triton.jit
def decode(q_ptr, k_cache_ptr, v_cache_ptr, table_ptr, lengths_ptr, out_ptr, KV, GROUP, scale, stride_page, stride_table, stride_q,
           D: tl.constexpr, BLOCK_D: tl.constexpr, BLOCK_G: tl.constexpr, PAGE: tl.constexpr, BLOCK_N: tl.constexpr,
           PRECISION: tl.constexpr, k_scale_ptr=None, v_scale_ptr=None):
    """One key head of one sequence a program: enough work for the machine when there are many sequences."""
    sequence = tl.program_id(0)
    key_head = tl.program_id(1)
    length = tl.load(lengths_ptr + sequence)
    acc, m, l = attend_tokens(q_ptr, k_cache_ptr, v_cache_ptr, table_ptr + sequence * stride_table, sequence, key_head, 0, length,
                              KV, GROUP, scale, stride_page, stride_q, D, BLOCK_D, BLOCK_G, PAGE, BLOCK_N, PRECISION, k_scale_ptr, v_scale_ptr)
    out = acc / tl.where(l != 0, l, 1.0)[:, None]
    members = tl.arange(0, BLOCK_G)
    d = tl.arange(0, BLOCK_D)
    heads = (sequence.to(tl.int64) * KV + key_head) * GROUP + members
    tl.store(out_ptr + heads[:, None] * D + d[None, :], out.to(out_ptr.dtype.element_ty),
             mask=(members[:, None] < GROUP) & (d[None, :] < D))


@triton.jit
def decode_split(q_ptr, k_cache_ptr, v_cache_ptr, table_ptr, lengths_ptr, part_ptr, m_ptr, l_ptr, KV, GROUP, scale,
                 stride_page, stride_table, stride_q, SPLIT_TOKENS,
                 D: tl.constexpr, BLOCK_D: tl.constexpr, BLOCK_G: tl.constexpr, PAGE: tl.constexpr, BLOCK_N: tl.constexpr,
                 PRECISION: tl.constexpr, k_scale_ptr=None, v_scale_ptr=None):
    """SPLIT_TOKENS tokens of it a program, for few or long sequences; `join_splits` puts the parts together."""
    sequence = tl.program_id(0)
    key_head = tl.program_id(1)
    split = tl.program_id(2)
    length = tl.load(lengths_ptr + sequence)
    first = split * SPLIT_TOKENS
    if first >= length:
        return
    acc, m, l = attend_tokens(q_ptr, k_cache_ptr, v_cache_ptr, table_ptr + sequence * stride_table, sequence, key_head,
                              first, min(first + SPLIT_TOKENS, length), KV, GROUP, scale, stride_page, stride_q,
                              D, BLOCK_D, BLOCK_G, PAGE, BLOCK_N, PRECISION, k_scale_ptr, v_scale_ptr)
    members = tl.arange(0, BLOCK_G)
    d = tl.arange(0, BLOCK_D)
    heads = (sequence.to(tl.int64) * KV + key_head) * GROUP + members
    slot = heads * tl.num_programs(2) + split
    tl.store(part_ptr + slot[:, None] * D + d[None, :], acc, mask=(members[:, None] < GROUP) & (d[None, :] < D))
    tl.store(m_ptr + slot, m, mask=members < GROUP)
    tl.store(l_ptr + slot, l, mask=members < GROUP)


@triton.jit
def join_splits(part_ptr, m_ptr, l_ptr, lengths_ptr, out_ptr, H, SPLITS, SPLIT_TOKENS,
                D: tl.constexpr, BLOCK_D: tl.constexpr, BLOCK_S: tl.constexpr):
    """One query head of one sequence a program: weighs its parts by their maxima and adds them."""
    sequence = tl.program_id(0)
    head = sequence.to(tl.int64) * H + tl.program_id(1)
    used = tl.cdiv(tl.load(lengths_ptr + sequence), SPLIT_TOKENS)
    splits = tl.arange(0, BLOCK_S)
    d = tl.arange(0, BLOCK_D)
    slot = head * SPLITS + splits
    m = tl.load(m_ptr + slot, mask=splits < used, other=LOWEST)
    l = tl.load(l_ptr + slot, mask=splits < used, other=0.0)
    share = tl.exp2(m - tl.max(m, axis=0))
    total = tl.sum(l * share, axis=0)
    part = tl.load(part_ptr + slot[:, None] * D + d[None, :], mask=(splits[:, None] < used) & (d[None, :] < D), other=0.0)
    out = tl.sum(part * share[:, None], axis=0) / tl.where(total != 0, total, 1.0)
    tl.store(out_ptr + head * D + d, out.to(out_ptr.dtype.element_ty), mask=d < D)


@triton.jit
def decode_joined(q_ptr, k_cache_ptr, v_cache_ptr, table_ptr, lengths_ptr, out_ptr, part_ptr, m_ptr, l_ptr, done_ptr, KV, GROUP, scale,
                  stride_page, stride_table, stride_q, SPLIT_TOKENS,
                  D: tl.constexpr, BLOCK_D: tl.constexpr, BLOCK_G: tl.constexpr, JOIN_G: tl.constexpr, JOIN_S: tl.constexpr,
                  PAGE: tl.constexpr, BLOCK_N: tl.constexpr, PRECISION: tl.constexpr, k_scale_ptr=None, v_scale_ptr=None):
    """`decode_split` and the join in one launch: the program of a key head that is done last puts its parts together.

    `done_ptr` counts the programs that are done, a number for each sequence and key head. It is 0 before and after.
    """
    sequence = tl.program_id(0)
    key_head = tl.program_id(1)
    split = tl.program_id(2)
    members = tl.arange(0, BLOCK_G)
    d = tl.arange(0, BLOCK_D)
    # All of this is far away: it is on its way before the first of it is waited for.
    first = split * SPLIT_TOKENS
    table_row = table_ptr + sequence * stride_table
    page = tl.load(table_row + first // PAGE)
    q_at = sequence.to(tl.int64) * stride_q + (key_head * GROUP + members) * D
    q = tl.load(q_ptr + q_at[:, None] + d[None, :], mask=(members[:, None] < GROUP) & (d[None, :] < D), other=0.0)
    length = tl.load(lengths_ptr + sequence)
    if first >= length and split > 0:
        return
    # A page below 0 is none.
    last = tl.where(page >= 0, min(first + SPLIT_TOKENS, length), first)
    # A page is read once: its lines may leave the second-level cache before any other, and what lies there stays. Caches that
    # are many times as large are read faster as usual.
    acc, m, l = attend(q, k_cache_ptr, v_cache_ptr, table_row, key_head, first, last, KV, scale, stride_page, D, BLOCK_D, PAGE,
                       BLOCK_N, PRECISION, k_scale_ptr, v_scale_ptr, FIRST)
    group = sequence.to(tl.int64) * KV + key_head
    heads = group * GROUP + members
    present = (members[:, None] < GROUP) & (d[None, :] < D)
    used = tl.cdiv(length, SPLIT_TOKENS)
    if used <= 1:
        tl.store(out_ptr + heads[:, None] * D + d[None, :], (acc / tl.where(l != 0, l, 1.0)[:, None]).to(out_ptr.dtype.element_ty), mask=present)
        return

    # Parts of a key head lie together, those of a slice one after another.
    slot = (group * tl.num_programs(2) + split) * GROUP + members
    tl.store(part_ptr + slot[:, None] * D + d[None, :], acc, mask=present)
    tl.store(m_ptr + slot, m, mask=members < GROUP)
    tl.store(l_ptr + slot, l, mask=members < GROUP)
    # All lanes' stores are behind the barrier, and released with the count to the program that acquires it last.
    tl.debug_barrier()
    if tl.atomic_add(done_ptr + group, 1, sem="acq_rel") == used - 1:
        tl.store(done_ptr + group, 0)
        join_group(part_ptr, m_ptr, l_ptr, out_ptr, group, used, tl.num_programs(2), GROUP, D, BLOCK_D, JOIN_G, JOIN_S)


@triton.jit
def join_group(part_ptr, m_ptr, l_ptr, out_ptr, group, used, SPLITS, GROUP, D: tl.constexpr, BLOCK_D: tl.constexpr,
               JOIN_G: tl.constexpr, JOIN_S: tl.constexpr):
    """Weighs the first `used` parts of a key head by their maxima and adds them, JOIN_S parts a step."""
    splits = tl.arange(0, JOIN_S)
    members = tl.arange(0, JOIN_G)
    d = tl.arange(0, BLOCK_D)
    top = tl.full([JOIN_G], LOWEST, dtype=tl.float32)
    total = tl.zeros([JOIN_G], dtype=tl.float32)
    out = tl.zeros([JOIN_G, BLOCK_D], dtype=tl.float32)
    for start in range(0, used, JOIN_S):
        present = (start + splits[:, None] < used) & (members[None, :] < GROUP)
        slot = (group * SPLITS + start + splits[:, None]) * GROUP + members[None, :]
        m = tl.load(m_ptr + slot, mask=present, other=LOWEST)
        l = tl.load(l_ptr + slot, mask=present, other=0.0)
        part = tl.load(part_ptr + slot[:, :, None] * D + d[None, None, :], mask=present[:, :, None] & (d[None, None, :] < D), other=0.0)
        higher = tl.maximum(top, tl.max(m, axis=0))
        shrink = tl.exp2(top - higher)
        share = tl.exp2(m - higher[None, :])
        total = total * shrink + tl.sum(l * share, axis=0)
        out = out * shrink[:, None] + tl.sum(part * share[:, :, None], axis=0)
        top = higher
    heads = group * GROUP + members
    tl.store(out_ptr + heads[:, None] * D + d[None, :], (out / tl.where(total != 0, total, 1.0)[:, None]).to(out_ptr.dtype.element_ty),
             mask=(members[:, None] < GROUP) & (d[None, :] < D))


@triton.jit
def append(k_ptr, v_ptr, k_cache_ptr, v_cache_ptr, table_ptr, lengths_ptr, ROW, stride_page, stride_table, stride_k, stride_v,
           PAGE: tl.constexpr, BLOCK: tl.constexpr):
    """Writes the newest token's keys and values, ROW = key heads * D of each, to the last place of each sequence."""
    sequence = tl.program_id(0)
    last = tl.load(lengths_ptr + sequence) - 1
    page = tl.load(table_ptr + sequence * stride_table + last // PAGE).to(tl.int64)
    columns = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    inside = columns < ROW
    b = sequence.to(tl.int64)
    target = page * stride_page + (last % PAGE) * ROW + columns
    tl.store(k_cache_ptr + target, tl.load(k_ptr + b * stride_k + columns, mask=inside), mask=inside)
    tl.store(v_cache_ptr + target, tl.load(v_ptr + b * stride_v + columns, mask=inside), mask=inside)
