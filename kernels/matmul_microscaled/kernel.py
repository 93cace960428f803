"""C = A @ B^T of microscaled operands: A [M, K] and B [N, K] of 4- or 8-bit floats with one scale for each GROUP elements of a row.

A row of 4-bit floats (e2m1) is K / 2 bytes, low half first. OCP MX has scales that are powers of two (e8m0 bytes) for 32 elements, nvfp4 has
8-bit floats (e4m3) for 16. An operand without scales, such as activations in bf16, is as it is.
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
def scales_of(scale, rows, first, groups, STEP: tl.constexpr):
    """The scales of some rows for the STEP groups of a step; each row has `groups` of them."""
    at = first + tl.arange(0, STEP)
    return tl.load(scale + rows.to(tl.int64)[:, None] * groups + at[None, :], mask=at[None, :] < groups, other=0.0)


@triton.jit
def matmul_microscaled(a_ptr, a_scale_ptr, b_ptr, b_scale_ptr, c_ptr, M, N, K, stride_am, stride_bn, stride_cm,
                       A_FORMAT: tl.constexpr, B_FORMAT: tl.constexpr, GROUP: tl.constexpr,
                       BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr, GROUP_M: tl.constexpr):
    """K is a multiple of GROUP."""
    tile_m, tile_n = tile_of(tl.program_id(0), M, N, BLOCK_M, BLOCK_N, GROUP_M)
    m = tile_m * BLOCK_M + tl.arange(0, BLOCK_M)
    n = tile_n * BLOCK_N + tl.arange(0, BLOCK_N)
    # Rows past the edge wrap around: they are read in bounds without a mask, and never stored.
    a_rows, b_rows = m % M, n % N
    A_PACK: tl.constexpr = 2 if A_FORMAT == "e2m1" else 1
    B_PACK: tl.constexpr = 2 if B_FORMAT == "e2m1" else 1
    a_k = tl.arange(0, BLOCK_K // A_PACK)
    b_k = tl.arange(0, BLOCK_K // B_PACK)
    a = a_ptr + a_rows.to(tl.int64)[:, None] * stride_am + a_k[None, :]
    b = b_ptr + b_rows.to(tl.int64)[None, :] * stride_bn + b_k[:, None]
    acc = tl.zeros([BLOCK_M, BLOCK_N], dtype=tl.float32)
    for start in range(0, K, BLOCK_K):
        a_tile = tl.load(a, mask=a_k[None, :] < (K - start) // A_PACK, other=0.0)
        b_tile = tl.load(b, mask=b_k[:, None] < (K - start) // B_PACK, other=0.0)
        a_scale = None
        if a_scale_ptr is not None:
            a_scale = scales_of(a_scale_ptr, a_rows, start // GROUP, K // GROUP, BLOCK_K // GROUP)
        b_scale = scales_of(b_scale_ptr, b_rows, start // GROUP, K // GROUP, BLOCK_K // GROUP)
        acc = tl.dot_scaled(a_tile, a_scale, A_FORMAT, b_tile, b_scale, B_FORMAT, acc)
        a += BLOCK_K // A_PACK
        b += BLOCK_K // B_PACK
    offsets = m.to(tl.int64)[:, None] * stride_cm + n[None, :]
    tl.store(c_ptr + offsets, acc.to(c_ptr.dtype.element_ty), mask=(m[:, None] < M) & (n[None, :] < N))
