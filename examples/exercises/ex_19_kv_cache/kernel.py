import triton
import triton.language as tl


@triton.jit
def copy(x, y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + i, tl.load(x + i, mask=i < n), mask=i < n)


@triton.jit
def next_token(all_q, all_k, all_v, q, k, v, lengths, Q_ROW, KV_ROW, BLOCK: tl.constexpr):
    """The step of a graph: the position is read from memory, so that the launch need not know it. One program."""
    at = tl.load(lengths)
    i = tl.arange(0, BLOCK)
    tl.store(q + i, tl.load(all_q + at * Q_ROW + i, mask=i < Q_ROW), mask=i < Q_ROW)
    tl.store(k + i, tl.load(all_k + at * KV_ROW + i, mask=i < KV_ROW), mask=i < KV_ROW)
    tl.store(v + i, tl.load(all_v + at * KV_ROW + i, mask=i < KV_ROW), mask=i < KV_ROW)
    tl.store(lengths, at + 1)


@triton.jit
def keep(out, all_out, lengths, ROW, BLOCK: tl.constexpr):
    at = tl.load(lengths) - 1
    i = tl.arange(0, BLOCK)
    tl.store(all_out + at * ROW + i, tl.load(out + i, mask=i < ROW), mask=i < ROW)
