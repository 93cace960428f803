import triton
import triton.language as tl


@triton.jit
def activate(x, ACTIVATION: tl.constexpr):
    """The epilogue's function; gelu is the tanh form, written as x * sigmoid(2u)."""
    if ACTIVATION == "none":
        return x
    elif ACTIVATION == "relu":
        return tl.maximum(x, 0.0)
    elif ACTIVATION == "silu":
        return x * tl.sigmoid(x)
    else:
        tl.static_assert(ACTIVATION == "gelu", "ACTIVATION is none, relu, silu or gelu")
        return x * tl.sigmoid(1.5957691216057308 * (x + 0.044715 * x * x * x))


@triton.jit
def tile_of(pid, M, N, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, GROUP_M: tl.constexpr):
    """Program -> tile, in groups of GROUP_M rows of tiles.

    Programs that run together then share GROUP_M tiles of A and a few of B, which fit the L2 cache;
    in row order they would share one tile of A and want all of B.
    """
    rows = tl.cdiv(M, BLOCK_M)
    columns = tl.cdiv(N, BLOCK_N)
    group = pid // (GROUP_M * columns)
    first = group * GROUP_M
    height = min(rows - first, GROUP_M)
    within = pid % (GROUP_M * columns)
    return first + within % height, within // height


@triton.jit
def matmul(a_ptr, b_ptr, bias_ptr, c_ptr, M, N, K,
           stride_am, stride_ak, stride_bk, stride_bn, stride_cm, stride_cn,
           BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr, GROUP_M: tl.constexpr,
           ACTIVATION: tl.constexpr, PRECISION: tl.constexpr, residual_ptr=None, scale_ptr=None, alpha=None):
    """C = activation(alpha * A @ B + bias) + residual; bias is a row or None, the residual lies as C does or is None.

    With `scale_ptr` C has 8 bits and holds the result over the scale: the cast to fp8 saturates.
    """
    tile_m, tile_n = tile_of(tl.program_id(0), M, N, BLOCK_M, BLOCK_N, GROUP_M)
    m = tile_m * BLOCK_M + tl.arange(0, BLOCK_M)
    n = tile_n * BLOCK_N + tl.arange(0, BLOCK_N)
    k = tl.arange(0, BLOCK_K)

    # Rows past the edge wrap around: they are read in bounds without a mask, and never stored.
    a = a_ptr + (m % M).to(tl.int64)[:, None] * stride_am + k.to(tl.int64)[None, :] * stride_ak
    b = b_ptr + k.to(tl.int64)[:, None] * stride_bk + (n % N).to(tl.int64)[None, :] * stride_bn
    acc = tl.zeros([BLOCK_M, BLOCK_N], dtype=tl.float32)
    for start in range(0, K, BLOCK_K):
        left = K - start
        a_tile = tl.load(a, mask=k[None, :] < left, other=0.0)
        b_tile = tl.load(b, mask=k[:, None] < left, other=0.0)
        acc = tl.dot(a_tile, b_tile, acc, input_precision=PRECISION)
        a += tl.cast(stride_ak, tl.int64) * BLOCK_K
        b += tl.cast(stride_bk, tl.int64) * BLOCK_K

    if alpha is not None:
        acc *= alpha
    if bias_ptr is not None:
        acc += tl.load(bias_ptr + n, mask=n < N, other=0.0).to(tl.float32)[None, :]
    c = activate(acc, ACTIVATION)
    offsets = m.to(tl.int64)[:, None] * stride_cm + n.to(tl.int64)[None, :] * stride_cn
    if residual_ptr is not None:
        c += tl.load(residual_ptr + offsets, mask=(m[:, None] < M) & (n[None, :] < N), other=0.0).to(tl.float32)
    if scale_ptr is not None:
        c *= 1.0 / tl.load(scale_ptr)
    tl.store(c_ptr + offsets, c.to(c_ptr.dtype.element_ty), mask=(m[:, None] < M) & (n[None, :] < N))


@triton.jit
def finish(acc, m, n, bias_ptr, M, N, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, ACTIVATION: tl.constexpr,
           residual_ptr, residual_stride, scale_ptr, alpha):
    """The epilogue of a tile whose first row is m and first column n, of what there is of bias, residual, scale and alpha."""
    columns = n + tl.arange(0, BLOCK_N)
    if alpha is not None:
        acc *= alpha
    if bias_ptr is not None:
        acc += tl.load(bias_ptr + columns, mask=columns < N, other=0.0).to(tl.float32)[None, :]
    c = activate(acc, ACTIVATION)
    if residual_ptr is not None:
        rows = m + tl.arange(0, BLOCK_M)
        offsets = rows.to(tl.int64)[:, None] * residual_stride + columns[None, :]
        c += tl.load(residual_ptr + offsets, mask=(rows[:, None] < M) & (columns[None, :] < N), other=0.0).to(tl.float32)
    if scale_ptr is not None:
        c *= 1.0 / tl.load(scale_ptr)
    return c


@triton.jit
def matmul_descriptors(a_desc, b_desc, bias_ptr, c_desc, M, N, K,
                       BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr, GROUP_M: tl.constexpr,
                       ACTIVATION: tl.constexpr, PRECISION: tl.constexpr, residual_ptr=None, residual_stride=0, scale_ptr=None, alpha=None):
    """The same over tensor descriptors: edges are cut by the descriptors, not by masks."""
    tile_m, tile_n = tile_of(tl.program_id(0), M, N, BLOCK_M, BLOCK_N, GROUP_M)
    m = tile_m * BLOCK_M
    n = tile_n * BLOCK_N
    acc = tl.zeros([BLOCK_M, BLOCK_N], dtype=tl.float32)
    for k in range(0, K, BLOCK_K):
        acc = tl.dot(a_desc.load([m, k]), b_desc.load([k, n]), acc, input_precision=PRECISION)
    c = finish(acc, m, n, bias_ptr, M, N, BLOCK_M, BLOCK_N, ACTIVATION, residual_ptr, residual_stride, scale_ptr, alpha)
    c_desc.store([m, n], c.to(c_desc.dtype))


@triton.jit
def matmul_split_k(a_ptr, b_ptr, partial_ptr, M, N, K, K_PER_SPLIT,
                   stride_am, stride_ak, stride_bk, stride_bn,
                   BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr, PRECISION: tl.constexpr):
    """A slice of K a program, for outputs of too few tiles to fill the machine; slices stay apart in memory."""
    tile_m, tile_n = tile_of(tl.program_id(0), M, N, BLOCK_M, BLOCK_N, 8)
    split = tl.program_id(1)
    m = tile_m * BLOCK_M + tl.arange(0, BLOCK_M)
    n = tile_n * BLOCK_N + tl.arange(0, BLOCK_N)
    k = split * K_PER_SPLIT + tl.arange(0, BLOCK_K)
    end = min(K, (split + 1) * K_PER_SPLIT)
    a = a_ptr + (m % M).to(tl.int64)[:, None] * stride_am
    b = b_ptr + (n % N).to(tl.int64)[None, :] * stride_bn
    acc = tl.zeros([BLOCK_M, BLOCK_N], dtype=tl.float32)
    for start in range(0, K_PER_SPLIT, BLOCK_K):
        at = (start + k).to(tl.int64)
        a_tile = tl.load(a + at[None, :] * stride_ak, mask=at[None, :] < end, other=0.0)
        b_tile = tl.load(b + at[:, None] * stride_bk, mask=at[:, None] < end, other=0.0)
        acc = tl.dot(a_tile, b_tile, acc, input_precision=PRECISION)
    offsets = (split.to(tl.int64) * M + m[:, None]) * N + n[None, :]
    tl.store(partial_ptr + offsets, acc, mask=(m[:, None] < M) & (n[None, :] < N))


@triton.jit
def sum_splits(partial_ptr, bias_ptr, c_ptr, M, N, SPLITS, stride_cm, stride_cn,
               BLOCK: tl.constexpr, ACTIVATION: tl.constexpr):
    """Adds the slices in order, so that the result does not depend on timing; then the epilogue."""
    row = tl.program_id(0).to(tl.int64)
    n = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    acc = tl.zeros([BLOCK], dtype=tl.float32)
    for split in range(SPLITS):
        acc += tl.load(partial_ptr + (tl.cast(split, tl.int64) * M + row) * N + n, mask=n < N, other=0.0)
    if bias_ptr is not None:
        acc += tl.load(bias_ptr + n, mask=n < N, other=0.0).to(tl.float32)
    c = activate(acc, ACTIVATION).to(c_ptr.dtype.element_ty)
    tl.store(c_ptr + row * stride_cm + n.to(tl.int64) * stride_cn, c, mask=n < N)
