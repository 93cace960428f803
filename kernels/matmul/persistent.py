"""As many programs as the machine runs at once, each of which takes tile after tile, through tensor descriptors or pointers.

The loop over tiles and the loop over K are one to the pipeline: the first blocks of the next tile
are on their way while the last tile is stored.
"""
import triton
import triton.language as tl

from kernel import activate, finish, tile_of


@triton.jit
def add_bias(acc, bias_ptr, n, N, BLOCK: tl.constexpr):
    if bias_ptr is not None:
        columns = n + tl.arange(0, BLOCK)
        acc += tl.load(bias_ptr + columns, mask=columns < N, other=0.0).to(tl.float32)[None, :]
    return acc


@triton.jit
def matmul_persistent(a_desc, b_desc, bias_ptr, c_desc, M, N, K,
                      BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr, GROUP_M: tl.constexpr,
                      HALVES: tl.constexpr, ACTIVATION: tl.constexpr, PRECISION: tl.constexpr,
                      residual_ptr=None, residual_stride=0, scale_ptr=None, alpha=None):
    """Under HALVES a tile leaves in two halves of its columns, which want half the shared memory: one more stage fits."""
    tiles = tl.cdiv(M, BLOCK_M) * tl.cdiv(N, BLOCK_N)
    for tile in tl.range(tl.program_id(0), tiles, tl.num_programs(0), flatten=True):
        tile_m, tile_n = tile_of(tile, M, N, BLOCK_M, BLOCK_N, GROUP_M)
        m = tile_m * BLOCK_M
        n = tile_n * BLOCK_N
        acc = tl.zeros([BLOCK_M, BLOCK_N], dtype=tl.float32)
        for k in range(0, K, BLOCK_K):
            acc = tl.dot(a_desc.load([m, k]), b_desc.load([k, n]), acc, input_precision=PRECISION)
        if HALVES:
            left, right = tl.split(tl.permute(tl.reshape(acc, [BLOCK_M, 2, BLOCK_N // 2]), [0, 2, 1]))
            left = finish(left, m, n, bias_ptr, M, N, BLOCK_M, BLOCK_N // 2, ACTIVATION, residual_ptr, residual_stride, scale_ptr, alpha)
            c_desc.store([m, n], left.to(c_desc.dtype))
            middle = n + BLOCK_N // 2
            right = finish(right, m, middle, bias_ptr, M, N, BLOCK_M, BLOCK_N // 2, ACTIVATION, residual_ptr, residual_stride, scale_ptr, alpha)
            c_desc.store([m, middle], right.to(c_desc.dtype))
        else:
            c = finish(acc, m, n, bias_ptr, M, N, BLOCK_M, BLOCK_N, ACTIVATION, residual_ptr, residual_stride, scale_ptr, alpha)
            c_desc.store([m, n], c.to(c_desc.dtype))


@triton.jit
def matmul_persistent_pointers(a_ptr, b_ptr, bias_ptr, c_ptr, M, N, K, stride_am, stride_ak, stride_bk, stride_bn, stride_cm, stride_cn,
                               BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr, GROUP_M: tl.constexpr,
                               ACTIVATION: tl.constexpr, PRECISION: tl.constexpr):
    tiles = tl.cdiv(M, BLOCK_M) * tl.cdiv(N, BLOCK_N)
    for tile in tl.range(tl.program_id(0), tiles, tl.num_programs(0), flatten=True):
        tile_m, tile_n = tile_of(tile, M, N, BLOCK_M, BLOCK_N, GROUP_M)
        m = tile_m * BLOCK_M + tl.arange(0, BLOCK_M)
        n = tile_n * BLOCK_N + tl.arange(0, BLOCK_N)
        # Rows and columns outside read those inside: only K needs a mask.
        a_row = a_ptr + (m % M).to(tl.int64)[:, None] * stride_am
        b_column = b_ptr + (n % N).to(tl.int64)[None, :] * stride_bn
        acc = tl.zeros([BLOCK_M, BLOCK_N], dtype=tl.float32)
        for step in range(tl.cdiv(K, BLOCK_K)):
            k = step * BLOCK_K + tl.arange(0, BLOCK_K)
            a = tl.load(a_row + k.to(tl.int64)[None, :] * stride_ak, mask=k[None, :] < K, other=0.0)
            b = tl.load(b_column + k.to(tl.int64)[:, None] * stride_bk, mask=k[:, None] < K, other=0.0)
            acc = tl.dot(a, b, acc, input_precision=PRECISION)
        acc = activate(add_bias(acc, bias_ptr, tile_n * BLOCK_N, N, BLOCK_N), ACTIVATION)
        c = c_ptr + m.to(tl.int64)[:, None] * stride_cm + n.to(tl.int64)[None, :] * stride_cn
        tl.store(c, acc.to(c_ptr.dtype.element_ty), mask=(m[:, None] < M) & (n[None, :] < N))
