import triton
import triton.language as tl


@triton.jit
def matmul_batched(a_ptr, b_ptr, c_ptr, M, N, K,
                   stride_az, stride_am, stride_ak, stride_bz, stride_bk, stride_bn, stride_cz, stride_cm,
                   BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr, GROUP_M: tl.constexpr,
                   EVEN_K: tl.constexpr, PRECISION: tl.constexpr):
    """C[z] = A[z] @ B[z]. A batch stride of 0 shares one matrix; tiles of one product are neighbours."""
    pid = tl.program_id(0)
    batch = tl.program_id(1).to(tl.int64)
    rows = tl.cdiv(M, BLOCK_M)
    per_group = GROUP_M * tl.cdiv(N, BLOCK_N)
    first = pid // per_group * GROUP_M
    height = min(rows - first, GROUP_M)
    m = (first + pid % per_group % height) * BLOCK_M + tl.arange(0, BLOCK_M)
    n = pid % per_group // height * BLOCK_N + tl.arange(0, BLOCK_N)
    k = tl.arange(0, BLOCK_K)

    # Rows past the edge wrap around: they are read in bounds without a mask, and never stored.
    a = a_ptr + batch * stride_az + (m % M).to(tl.int64)[:, None] * stride_am + k.to(tl.int64)[None, :] * stride_ak
    b = b_ptr + batch * stride_bz + k.to(tl.int64)[:, None] * stride_bk + (n % N).to(tl.int64)[None, :] * stride_bn
    acc = tl.zeros([BLOCK_M, BLOCK_N], dtype=tl.float32)
    for start in range(0, K, BLOCK_K):
        if EVEN_K:
            a_tile = tl.load(a)
            b_tile = tl.load(b)
        else:
            a_tile = tl.load(a, mask=k[None, :] < K - start, other=0.0)
            b_tile = tl.load(b, mask=k[:, None] < K - start, other=0.0)
        acc = tl.dot(a_tile, b_tile, acc, input_precision=PRECISION)
        a += tl.cast(stride_ak, tl.int64) * BLOCK_K
        b += tl.cast(stride_bk, tl.int64) * BLOCK_K

    c = c_ptr + batch * stride_cz + m.to(tl.int64)[:, None] * stride_cm + n[None, :]
    tl.store(c, acc.to(c_ptr.dtype.element_ty), mask=(m[:, None] < M) & (n[None, :] < N))


@triton.jit
def one_tile(a_desc, b_desc, c_desc, batch, m, n, K,
             BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr, PRECISION: tl.constexpr):
    """The tile of product `batch` that begins at row m and column n."""
    acc = tl.zeros([BLOCK_M, BLOCK_N], dtype=tl.float32)
    for k in range(0, K, BLOCK_K):
        a = tl.reshape(a_desc.load([batch, m, k]), [BLOCK_M, BLOCK_K])
        b = tl.reshape(b_desc.load([batch, k, n]), [BLOCK_K, BLOCK_N])
        acc = tl.dot(a, b, acc, input_precision=PRECISION)
    c_desc.store([batch, m, n], tl.reshape(acc.to(c_desc.dtype), [1, BLOCK_M, BLOCK_N]))


@triton.jit
def matmul_batched_descriptors(a_desc, b_desc, c_desc, M, N, K,
                               BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr, PRECISION: tl.constexpr):
    """The same over descriptors of rank 3, whose blocks are one matrix deep."""
    tile = tl.program_id(0)
    batch = tl.program_id(1)
    rows = tl.cdiv(M, BLOCK_M)
    m = tile % rows * BLOCK_M
    n = tile // rows * BLOCK_N
    one_tile(a_desc, b_desc, c_desc, batch, m, n, K, BLOCK_M, BLOCK_N, BLOCK_K, PRECISION)


@triton.jit
def matmul_batched_persistent(a_desc, b_desc, c_desc, B, M, N, K,
                              BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr, PRECISION: tl.constexpr):
    """As many programs as the machine runs at once take tile after tile of all products: where K is short, the first blocks of
    the next tile and the store of the last one are most of the time, and lie beside each other here."""
    rows = tl.cdiv(M, BLOCK_M)
    tiles = rows * tl.cdiv(N, BLOCK_N)
    for tile in tl.range(tl.program_id(0), B * tiles, tl.num_programs(0), flatten=True):
        batch = tile // tiles
        m = tile % tiles % rows * BLOCK_M
        n = tile % tiles // rows * BLOCK_N
        one_tile(a_desc, b_desc, c_desc, batch, m, n, K, BLOCK_M, BLOCK_N, BLOCK_K, PRECISION)
