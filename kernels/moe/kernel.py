"""Mixture of experts: a router gives each of T tokens K of E experts; rows are put in the experts' order, pass
through each expert's own weights, and come back weighed.

An assignment is one of a token's choices, number t * K + i. The order is by expert and within one by
assignment, found by counting: no atomics, so the same places each time.
"""
import triton
import triton.language as tl

LOG2E = tl.constexpr(1.4426950408889634)


@triton.jit
def route(logits_ptr, weight_ptr, expert_ptr, T, E, K: tl.constexpr, RENORMALISE: tl.constexpr, BLOCK_T: tl.constexpr, BLOCK_E: tl.constexpr):
    """The K largest logits of each token, the lower expert first where they are equal, and their softmax: over the
    chosen under RENORMALISE, else over all experts."""
    tokens = tl.program_id(0) * BLOCK_T + tl.arange(0, BLOCK_T)
    experts = tl.arange(0, BLOCK_E)
    there = tokens < T
    x = tl.load(logits_ptr + tokens.to(tl.int64)[:, None] * E + experts[None, :],
                mask=there[:, None] & (experts[None, :] < E), other=-float("inf")).to(tl.float32) * LOG2E
    peak = tl.max(x, axis=1)
    total = tl.sum(tl.exp2(x - peak[:, None]), axis=1)
    places = tokens.to(tl.int64) * K
    if RENORMALISE:
        total = tl.zeros([BLOCK_T], tl.float32)
        left = x
        for i in tl.static_range(K):
            value, choice = tl.max(left, axis=1, return_indices=True)
            total += tl.exp2(value - peak)
            left = tl.where(experts[None, :] == choice[:, None], -float("inf"), left)
    for i in tl.static_range(K):
        value, choice = tl.max(x, axis=1, return_indices=True)
        tl.store(weight_ptr + places + i, tl.exp2(value - peak) / total, mask=there)
        tl.store(expert_ptr + places + i, choice, mask=there)
        x = tl.where(experts[None, :] == choice[:, None], -float("inf"), x)


@triton.jit
def count(expert_ptr, counts_ptr, N, E, BLOCK: tl.constexpr, BLOCK_E: tl.constexpr):
    """How many of a block of assignments each expert has: a row of [blocks, E]."""
    block = tl.program_id(0)
    at = block * BLOCK + tl.arange(0, BLOCK)
    experts = tl.load(expert_ptr + at, mask=at < N, other=-1)
    counts = tl.histogram(experts, BLOCK_E, mask=experts >= 0)
    lanes = tl.arange(0, BLOCK_E)
    tl.store(counts_ptr + block * E + lanes, counts, mask=lanes < E)


@triton.jit
def start(counts_ptr, offsets_ptr, BLOCKS, E, BLOCK_B: tl.constexpr, BLOCK_E: tl.constexpr):
    """One program: where each expert begins, and in place of each block's counts where its rows of the expert begin."""
    experts = tl.arange(0, BLOCK_E)
    rows = tl.arange(0, BLOCK_B)
    totals = tl.zeros([BLOCK_E], tl.int32)
    for first in range(0, BLOCKS, BLOCK_B):
        mask = (first + rows[:, None] < BLOCKS) & (experts[None, :] < E)
        totals += tl.sum(tl.load(counts_ptr + (first + rows[:, None]) * E + experts[None, :], mask=mask, other=0), axis=0)
    ends = tl.cumsum(totals, axis=0)
    before = ends - totals
    tl.store(offsets_ptr + experts, before, mask=experts < E)
    tl.store(offsets_ptr + E, tl.sum(totals, axis=0))
    for first in range(0, BLOCKS, BLOCK_B):
        mask = (first + rows[:, None] < BLOCKS) & (experts[None, :] < E)
        place = counts_ptr + (first + rows[:, None]) * E + experts[None, :]
        counts = tl.load(place, mask=mask, other=0)
        tl.debug_barrier()  # all copies of the counts are loaded before one is overwritten
        tl.store(place, before[None, :] + tl.cumsum(counts, axis=0) - counts, mask=mask)
        before += tl.sum(counts, axis=0)


@triton.jit
def place(expert_ptr, starts_ptr, row_ptr, source_ptr, N, E, BLOCK: tl.constexpr, BLOCK_E: tl.constexpr):
    """Each assignment's row in the experts' order, and of each row the assignment."""
    block = tl.program_id(0)
    at = block * BLOCK + tl.arange(0, BLOCK)
    lanes = tl.arange(0, BLOCK_E)
    expert = tl.load(expert_ptr + at, mask=at < N, other=-1)
    mine = (expert[:, None] == lanes[None, :]).to(tl.int32)
    # How many of the block before this one have its expert.
    rank = tl.sum(mine * (tl.cumsum(mine, axis=0) - mine), axis=1)
    row = tl.load(starts_ptr + block * E + expert, mask=at < N, other=0) + rank
    tl.store(row_ptr + at, row, mask=at < N)
    tl.store(source_ptr + row, at, mask=at < N)


@triton.jit
def permute(x_ptr, source_ptr, y_ptr, H, K: tl.constexpr, BLOCK: tl.constexpr):
    """y[r] = x of the token that row r belongs to. Its gradient is `combine` without weights."""
    row = tl.program_id(0).to(tl.int64)
    token = (tl.load(source_ptr + row) // K).to(tl.int64)
    columns = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    mask = columns < H
    tl.store(y_ptr + row * H + columns, tl.load(x_ptr + token * H + columns, mask=mask), mask=mask)


@triton.jit
def combine(y_ptr, row_ptr, weight_ptr, out_ptr, H, K: tl.constexpr, BLOCK: tl.constexpr):
    """out[t] = sum over i of weight[t, i] * y[row[t, i]], always in the same order; without weights the plain sum."""
    token = tl.program_id(0).to(tl.int64)
    columns = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    mask = columns < H
    out = tl.zeros([BLOCK], tl.float32)
    for i in tl.static_range(K):
        row = tl.load(row_ptr + token * K + i).to(tl.int64)
        y = tl.load(y_ptr + row * H + columns, mask=mask, other=0.0).to(tl.float32)
        if weight_ptr is not None:
            y *= tl.load(weight_ptr + token * K + i)
        out += y
    tl.store(out_ptr + token * H + columns, out.to(out_ptr.dtype.element_ty), mask=mask)


@triton.jit
def combine_backward(dout_ptr, y_ptr, source_ptr, weight_ptr, dy_ptr, dweight_ptr, H, K: tl.constexpr, BLOCK: tl.constexpr):
    """One row of y a program: dy = weight * dout of its token, dweight = dout . y."""
    row = tl.program_id(0).to(tl.int64)
    assignment = tl.load(source_ptr + row).to(tl.int64)
    weight = tl.load(weight_ptr + assignment)
    columns = tl.arange(0, BLOCK)
    products = tl.zeros([BLOCK], tl.float32)
    for first in range(0, H, BLOCK):
        mask = first + columns < H
        dout = tl.load(dout_ptr + assignment // K * H + first + columns, mask=mask, other=0.0).to(tl.float32)
        y = tl.load(y_ptr + row * H + first + columns, mask=mask, other=0.0).to(tl.float32)
        tl.store(dy_ptr + row * H + first + columns, (weight * dout).to(dy_ptr.dtype.element_ty), mask=mask)
        products += dout * y
    tl.store(dweight_ptr + assignment, tl.sum(products, axis=0))
