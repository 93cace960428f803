"""The forward pass by tensor descriptors: the copy engine brings whole tiles and fills what lies outside
of a sequence with 0, so that a step computes neither addresses nor masks."""
import triton
import triton.language as tl
from kernel import LOWEST, factors_of_head, first_row, log2_scores, store_rows, total_and_lse, visible_keys, weigh


@triton.jit
def attend(acc, m, l, q, keys, values, slope, rows, first, last, M, N, scale,
           BLOCK_N: tl.constexpr, CAUSAL: tl.constexpr, EDGE: tl.constexpr, PRECISION: tl.constexpr,
           WINDOW: tl.constexpr, SOFT_CAP: tl.constexpr, LIFT: tl.constexpr):
    """As `attend` of kernel.py, without bias and dropout."""
    for start in range(first, last, BLOCK_N):
        columns = start + tl.arange(0, BLOCK_N)
        k = keys.load([start, 0])
        s, steep, unit = log2_scores(q, k, None, slope, rows, columns, 0, M, N, scale, CAUSAL, EDGE, PRECISION, WINDOW, SOFT_CAP)
        weights, shrink, m, l = weigh(s, unit, m, l, LIFT)
        v = values.load([start, 0])
        acc = tl.dot(weights.to(v.dtype), v, acc * shrink[:, None], input_precision=PRECISION)
    return acc, m, l


@triton.jit
def flash_forward_descriptors(q_ptr, k_ptr, v_ptr, out_ptr, lse_ptr,
                              stride_qb, stride_qh, stride_qm, stride_kb, stride_kh, stride_kn, stride_vb, stride_vh, stride_vn,
                              stride_ob, stride_oh, stride_om, H, GROUP, M, N, scale,
                              D: tl.constexpr, BLOCK_D: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr,
                              CAUSAL: tl.constexpr, PRECISION: tl.constexpr,
                              slopes_ptr=None, descale_ptr=None, WINDOW: tl.constexpr = 0, SOFT_CAP: tl.constexpr = 0.0):
    """BLOCK_M queries of one head a program. Strides are multiples of 16 bytes."""
    start_m = first_row(BLOCK_M, CAUSAL)
    head = tl.program_id(1)
    b = (head // H).to(tl.int64)
    h = (head % H).to(tl.int64)
    g = h // GROUP
    rows = start_m + tl.arange(0, BLOCK_M)
    queries = tl.make_tensor_descriptor(q_ptr + b * stride_qb + h * stride_qh, [M, D], [stride_qm, 1], [BLOCK_M, BLOCK_D])
    keys = tl.make_tensor_descriptor(k_ptr + b * stride_kb + g * stride_kh, [N, D], [stride_kn, 1], [BLOCK_N, BLOCK_D])
    values = tl.make_tensor_descriptor(v_ptr + b * stride_vb + g * stride_vh, [N, D], [stride_vn, 1], [BLOCK_N, BLOCK_D])
    slope, scale, v_scale = factors_of_head(slopes_ptr, descale_ptr, scale, h, head // GROUP)
    LIFT: tl.constexpr = 8.0 if v_ptr.dtype.element_ty.is_fp8() else 0.0
    q = queries.load([start_m, 0])

    m = tl.full([BLOCK_M], LOWEST, dtype=tl.float32)
    l = tl.zeros([BLOCK_M], dtype=tl.float32)
    acc = tl.zeros([BLOCK_M, BLOCK_D], dtype=tl.float32)
    first, low, high, last = visible_keys(start_m, M, N, BLOCK_M, BLOCK_N, CAUSAL, WINDOW)
    if WINDOW > 0:
        acc, m, l = attend(acc, m, l, q, keys, values, slope, rows, first, low, M, N, scale, BLOCK_N, CAUSAL, True, PRECISION, WINDOW, SOFT_CAP, LIFT)
    acc, m, l = attend(acc, m, l, q, keys, values, slope, rows, low, high, M, N, scale, BLOCK_N, CAUSAL, False, PRECISION, WINDOW, SOFT_CAP, LIFT)
    acc, m, l = attend(acc, m, l, q, keys, values, slope, rows, high, last, M, N, scale, BLOCK_N, CAUSAL, True, PRECISION, WINDOW, SOFT_CAP, LIFT)

    total, lse = total_and_lse(m, l, LIFT)
    if descale_ptr is not None:
        acc *= v_scale
    store_rows(out_ptr + b * stride_ob + h * stride_oh, rows, stride_om, M, acc / total[:, None], D, BLOCK_D)
    tl.store(lse_ptr + head.to(tl.int64) * M + rows, lse, mask=rows < M)
