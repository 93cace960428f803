"""The forward pass by tensor descriptors: the copy engine brings whole tiles of [batch, head, sequence, D] and fills what lies outside
of a sequence with 0, so that a step computes no addresses, and masks only where a block of keys has some that are not seen."""
import triton
import triton.language as tl
from kernel import LOG2E, LOWEST, first_row, log2_scores, scales_of_head, seen, total_and_lse, visible_keys, weigh


@triton.jit
def flash_forward_descriptors(q_desc, k_desc, v_desc, out_desc, lse_ptr, GROUP, M, N, scale,
                              D: tl.constexpr, BLOCK_D: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr,
                              CAUSAL: tl.constexpr, PRECISION: tl.constexpr,
                              slopes_ptr=None, descale_ptr=None, WINDOW: tl.constexpr = 0, SOFT_CAP: tl.constexpr = 0.0):
    """BLOCK_M queries of one head a program. Blocks of the descriptors are [1, 1, rows, BLOCK_D].

    One loop for all keys, so that the blocks of the next step are on their way wherever masks begin.
    """
    start_m = first_row(BLOCK_M, CAUSAL)
    h = tl.program_id(1)
    b = tl.program_id(2)
    g = h // GROUP
    head = b * tl.num_programs(1) + h
    rows = start_m + tl.arange(0, BLOCK_M)
    slope = None
    if slopes_ptr is not None:
        slope = tl.load(slopes_ptr + h) * LOG2E
    scale, v_scale = scales_of_head(descale_ptr, scale, head // GROUP)
    LIFT: tl.constexpr = 8.0 if v_desc.dtype.is_fp8() else 0.0
    q = q_desc.load([b, h, start_m, 0]).reshape([BLOCK_M, BLOCK_D])

    m = tl.full([BLOCK_M], LOWEST, dtype=tl.float32)
    l = tl.zeros([BLOCK_M], dtype=tl.float32)
    acc = tl.zeros([BLOCK_M, BLOCK_D], dtype=tl.float32)
    first, low, high, last = visible_keys(start_m, M, N, BLOCK_M, BLOCK_N, CAUSAL, WINDOW)
    for start in range(first, last, BLOCK_N):
        columns = start + tl.arange(0, BLOCK_N)
        k = k_desc.load([b, g, start, 0]).reshape([BLOCK_N, BLOCK_D])
        s, steep, unit = log2_scores(q, k, None, slope, rows, columns, 0, M, N, scale, CAUSAL, False, PRECISION, WINDOW, SOFT_CAP)
        if start < low or start >= high:
            s = tl.where(seen(rows[:, None], columns[None, :], M, N, CAUSAL, WINDOW), s * unit, -float("inf"))
            unit = 1.0
        weights, shrink, m, l = weigh(s, unit, m, l, LIFT)
        v = v_desc.load([b, g, start, 0]).reshape([BLOCK_N, BLOCK_D])
        acc = tl.dot(weights.to(v.dtype), v, acc * shrink[:, None], input_precision=PRECISION)

    total, lse = total_and_lse(m, l, LIFT)
    if descale_ptr is not None:
        acc *= v_scale
    tl.store(lse_ptr + head.to(tl.int64) * M + rows, lse, mask=rows < M)
    out = (acc * (1.0 / total)[:, None]).to(out_desc.dtype)
    out_desc.store([b, h, start_m, 0], out.reshape([1, 1, BLOCK_M, BLOCK_D]))
