"""C = (A * scales) @ (B * scales)^T for A [M, K] and B [N, K] of int8 or fp8, both with K contiguous, as 8-bit tensor cores read them.

Scales that don't depend on k leave the sum: it is taken of the 8-bit numbers, exact in i32 for int8.
"""
import triton
import triton.language as tl


@triton.jit
def tile_of(pid, M, N, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, GROUP_M: tl.constexpr):
    """Program -> tile, in groups of GROUP_M rows of tiles, whose operands stay in the L2 cache."""
    rows = tl.cdiv(M, BLOCK_M)
    per_group = GROUP_M * tl.cdiv(N, BLOCK_N)
    first = pid // per_group * GROUP_M
    height = min(rows - first, GROUP_M)
    within = pid % per_group
    return first + within % height, within // height


@triton.jit
def finish(acc, a_scale_ptr, b_scale_ptr, bias_ptr, c_scale_ptr, m, n, M, N, PER_TENSOR: tl.constexpr):
    """Scales of the operands, bias, and the division by the result's own scale where it is quantised."""
    c = acc.to(tl.float32)
    if PER_TENSOR:
        c *= tl.load(a_scale_ptr) * tl.load(b_scale_ptr)
    else:
        c *= tl.load(a_scale_ptr + m, mask=m < M, other=0.0)[:, None]
        c *= tl.load(b_scale_ptr + n, mask=n < N, other=0.0)[None, :]
    if bias_ptr is not None:
        c += tl.load(bias_ptr + n, mask=n < N, other=0.0).to(tl.float32)[None, :]
    if c_scale_ptr is not None:
        c *= 1.0 / tl.load(c_scale_ptr)
    return c


@triton.jit
def matmul_scaled(a_ptr, b_ptr, a_scale_ptr, b_scale_ptr, bias_ptr, c_ptr, c_scale_ptr, M, N, K, stride_am, stride_bn, stride_cm,
                  BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr, GROUP_M: tl.constexpr,
                  EVEN_K: tl.constexpr, PER_TENSOR: tl.constexpr):
    """One scale for each tensor, or one for each row of A and of B."""
    tile_m, tile_n = tile_of(tl.program_id(0), M, N, BLOCK_M, BLOCK_N, GROUP_M)
    m = tile_m * BLOCK_M + tl.arange(0, BLOCK_M)
    n = tile_n * BLOCK_N + tl.arange(0, BLOCK_N)
    k = tl.arange(0, BLOCK_K)
    # Rows past the edge wrap around: they are read in bounds without a mask, and never stored.
    a = a_ptr + (m % M).to(tl.int64)[:, None] * stride_am + k[None, :]
    b = b_ptr + (n % N).to(tl.int64)[None, :] * stride_bn + k[:, None]
    INTEGER: tl.constexpr = a_ptr.dtype.element_ty == tl.int8
    acc = tl.zeros([BLOCK_M, BLOCK_N], dtype=tl.int32 if INTEGER else tl.float32)
    for start in range(0, K, BLOCK_K):
        if EVEN_K:
            a_tile = tl.load(a)
            b_tile = tl.load(b)
        else:
            a_tile = tl.load(a, mask=k[None, :] < K - start, other=0.0)
            b_tile = tl.load(b, mask=k[:, None] < K - start, other=0.0)
        acc = tl.dot(a_tile, b_tile, acc, out_dtype=acc.dtype)
        a += BLOCK_K
        b += BLOCK_K
    c = finish(acc, a_scale_ptr, b_scale_ptr, bias_ptr, c_scale_ptr, m, n, M, N, PER_TENSOR)
    offsets = m.to(tl.int64)[:, None] * stride_cm + n[None, :]
    tl.store(c_ptr + offsets, c.to(c_ptr.dtype.element_ty), mask=(m[:, None] < M) & (n[None, :] < N))


@triton.jit
def matmul_scaled_descriptors(a_desc, b_desc, a_scale_ptr, b_scale_ptr, bias_ptr, c_desc, c_scale_ptr, M, N, K,
                              BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr, GROUP_M: tl.constexpr,
                              PER_TENSOR: tl.constexpr):
    """The same over tensor descriptors: edges are cut by the descriptors, not by masks."""
    tile_m, tile_n = tile_of(tl.program_id(0), M, N, BLOCK_M, BLOCK_N, GROUP_M)
    INTEGER: tl.constexpr = a_desc.dtype == tl.int8
    acc = tl.zeros([BLOCK_M, BLOCK_N], dtype=tl.int32 if INTEGER else tl.float32)
    for k in range(0, K, BLOCK_K):
        acc = tl.dot(a_desc.load([tile_m * BLOCK_M, k]), b_desc.load([tile_n * BLOCK_N, k]).T, acc, out_dtype=acc.dtype)
    m = tile_m * BLOCK_M + tl.arange(0, BLOCK_M)
    n = tile_n * BLOCK_N + tl.arange(0, BLOCK_N)
    c = finish(acc, a_scale_ptr, b_scale_ptr, bias_ptr, c_scale_ptr, m, n, M, N, PER_TENSOR)
    c_desc.store([tile_m * BLOCK_M, tile_n * BLOCK_N], c.to(c_desc.dtype))


@triton.jit
def matmul_block_scaled(a_ptr, b_ptr, a_scale_ptr, b_scale_ptr, c_ptr, M, N, K, stride_am, stride_bn, stride_cm,
                        stride_a_scale, stride_b_scale,
                        BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, GROUP_M: tl.constexpr, EVEN_K: tl.constexpr):
    """A scale for each 1 x 128 of A, and for each 128 x 128 of B.

    Scales change along k, so each step of 128 is summed by itself and scaled into the f32 sum. A's
    scales are [K / 128, M], so that a tile reads its column of them in a row.
    """
    SCALED: tl.constexpr = 128
    tl.static_assert(SCALED % BLOCK_N == 0, "a tile's columns share one scale of B")
    tile_m, tile_n = tile_of(tl.program_id(0), M, N, BLOCK_M, BLOCK_N, GROUP_M)
    m = tile_m * BLOCK_M + tl.arange(0, BLOCK_M)
    n = tile_n * BLOCK_N + tl.arange(0, BLOCK_N)
    k = tl.arange(0, SCALED)
    a = a_ptr + (m % M).to(tl.int64)[:, None] * stride_am + k[None, :]
    b = b_ptr + (n % N).to(tl.int64)[None, :] * stride_bn + k[:, None]
    a_scales = a_scale_ptr + m % M
    b_scales = b_scale_ptr + tile_n * BLOCK_N // SCALED * stride_b_scale
    SUM: tl.constexpr = tl.int32 if a_ptr.dtype.element_ty == tl.int8 else tl.float32
    acc = tl.zeros([BLOCK_M, BLOCK_N], dtype=tl.float32)
    for start in range(0, K, SCALED):
        if EVEN_K:
            a_tile = tl.load(a)
            b_tile = tl.load(b)
        else:
            a_tile = tl.load(a, mask=k[None, :] < K - start, other=0.0)
            b_tile = tl.load(b, mask=k[:, None] < K - start, other=0.0)
        scale = tl.load(a_scales) * tl.load(b_scales)
        acc += tl.dot(a_tile, b_tile, out_dtype=SUM).to(tl.float32) * scale[:, None]
        a += SCALED
        b += SCALED
        a_scales += stride_a_scale
        b_scales += 1
    offsets = m.to(tl.int64)[:, None] * stride_cm + n[None, :]
    tl.store(c_ptr + offsets, acc.to(c_ptr.dtype.element_ty), mask=(m[:, None] < M) & (n[None, :] < N))
