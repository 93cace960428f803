"""Decoding for sequences that begin with the same tokens, whose pages they share.

Read sequence by sequence, the prefix would come from memory for each. Here the queries of all
sequences meet it as the rows of one product; each then meets its own tokens, and parts are joined.
"""
import triton
import triton.language as tl

from kernel import LOWEST, attend_rows


@triton.jit
def store_part(acc, m, l, heads, present, part, part_ptr, m_ptr, l_ptr, PARTS, D: tl.constexpr, BLOCK_D: tl.constexpr):
    d = tl.arange(0, BLOCK_D)
    slot = heads * PARTS + part
    tl.store(part_ptr + slot[:, None] * D + d[None, :], acc, mask=present[:, None] & (d[None, :] < D))
    tl.store(m_ptr + slot, m, mask=present)
    tl.store(l_ptr + slot, l, mask=present)


@triton.jit
def attend_prefix(q_ptr, k_cache_ptr, v_cache_ptr, prefix_ptr, part_ptr, m_ptr, l_ptr, B, KV, GROUP, PREFIX, SPLIT_TOKENS, PARTS, scale,
                  stride_page, stride_q, D: tl.constexpr, BLOCK_D: tl.constexpr, BLOCK_R: tl.constexpr, PAGE: tl.constexpr,
                  BLOCK_N: tl.constexpr, PRECISION: tl.constexpr, k_scale_ptr=None, v_scale_ptr=None):
    """A slice of the prefix against BLOCK_R rows a program: row r is head r % GROUP of the key head in sequence r // GROUP."""
    rows = tl.program_id(0) * BLOCK_R + tl.arange(0, BLOCK_R)
    key_head = tl.program_id(1)
    part = tl.program_id(2)
    heads = ((rows // GROUP).to(tl.int64) * KV + key_head) * GROUP + rows % GROUP
    present = rows < B * GROUP
    q_at = (rows // GROUP).to(tl.int64) * stride_q + (key_head * GROUP + rows % GROUP) * D
    acc, m, l = attend_rows(q_ptr, q_at, present, k_cache_ptr, v_cache_ptr, prefix_ptr, key_head, part * SPLIT_TOKENS,
                            min((part + 1) * SPLIT_TOKENS, PREFIX), KV, scale, stride_page, D, BLOCK_D, PAGE, BLOCK_N, PRECISION,
                            k_scale_ptr, v_scale_ptr)
    store_part(acc, m, l, heads, present, part, part_ptr, m_ptr, l_ptr, PARTS, D, BLOCK_D)


@triton.jit
def attend_rest(q_ptr, k_cache_ptr, v_cache_ptr, table_ptr, lengths_ptr, part_ptr, m_ptr, l_ptr, KV, GROUP, SPLIT_TOKENS, FIRST_PART, PARTS,
                scale, stride_page, stride_table, stride_q, D: tl.constexpr, BLOCK_D: tl.constexpr, BLOCK_G: tl.constexpr, PAGE: tl.constexpr,
                BLOCK_N: tl.constexpr, PRECISION: tl.constexpr, k_scale_ptr=None, v_scale_ptr=None):
    """A slice of one sequence's own tokens; the table and lengths are those of what follows the prefix."""
    sequence = tl.program_id(0)
    key_head = tl.program_id(1)
    split = tl.program_id(2)
    length = tl.load(lengths_ptr + sequence)
    members = tl.arange(0, BLOCK_G)
    heads = (sequence.to(tl.int64) * KV + key_head) * GROUP + members
    present = members < GROUP
    q_at = sequence.to(tl.int64) * stride_q + (key_head * GROUP + members) * D
    acc, m, l = attend_rows(q_ptr, q_at, present, k_cache_ptr, v_cache_ptr, table_ptr + sequence * stride_table, key_head,
                            split * SPLIT_TOKENS, min((split + 1) * SPLIT_TOKENS, length), KV, scale, stride_page,
                            D, BLOCK_D, PAGE, BLOCK_N, PRECISION,
                            k_scale_ptr, v_scale_ptr)
    store_part(acc, m, l, heads, present, FIRST_PART + split, part_ptr, m_ptr, l_ptr, PARTS, D, BLOCK_D)


@triton.jit
def join_parts(part_ptr, m_ptr, l_ptr, out_ptr, PARTS, D: tl.constexpr, BLOCK_D: tl.constexpr, BLOCK_S: tl.constexpr):
    """One query head of one sequence a program. A part of no tokens has the sum 0 and weighs nothing."""
    head = tl.program_id(0).to(tl.int64)
    parts = tl.arange(0, BLOCK_S)
    d = tl.arange(0, BLOCK_D)
    slot = head * PARTS + parts
    m = tl.load(m_ptr + slot, mask=parts < PARTS, other=LOWEST)
    l = tl.load(l_ptr + slot, mask=parts < PARTS, other=0.0)
    share = tl.exp2(m - tl.max(m, axis=0))
    total = tl.sum(l * share, axis=0)
    part = tl.load(part_ptr + slot[:, None] * D + d[None, :], mask=(parts[:, None] < PARTS) & (d[None, :] < D), other=0.0)
    out = tl.sum(part * share[:, None], axis=0) / tl.where(total != 0, total, 1.0)
    tl.store(out_ptr + head * D + d, out.to(out_ptr.dtype.element_ty), mask=d < D)
