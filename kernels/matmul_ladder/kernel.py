"""One matrix product, C = A @ B of row-major f16 matrices, on the rungs by which it becomes fast."""
import triton
import triton.language as tl


@triton.jit
def element(a_ptr, b_ptr, c_ptr, M, N, K, BLOCK_K: tl.constexpr):
    """One element of C a program. Each element of A is read N times and each of B M times, B down a column:
    of each 32 bytes that memory sends for it 2 are used."""
    m = tl.program_id(0).to(tl.int64)
    n = tl.program_id(1)
    k = tl.arange(0, BLOCK_K)
    acc = tl.zeros([BLOCK_K], dtype=tl.float32)
    for start in range(0, K, BLOCK_K):
        mask = start + k < K
        a = tl.load(a_ptr + m * K + start + k, mask=mask, other=0.0).to(tl.float32)
        b = tl.load(b_ptr + (start + k).to(tl.int64) * N + n, mask=mask, other=0.0).to(tl.float32)
        acc += a * b
    tl.store(c_ptr + m * N + n, tl.sum(acc, axis=0).to(c_ptr.dtype.element_ty))


@triton.jit
def tiled(a_ptr, b_ptr, c_ptr, M, N, K, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr, GROUP_M: tl.constexpr):
    """A tile of C a program, on tensor cores: A is read N / BLOCK_N times, B M / BLOCK_M times.

    With GROUP_M = 1 programs take tiles in row order, and those that run together want all of B;
    with more they take them in groups of rows, whose operands fit the L2 cache.
    """
    pid = tl.program_id(0)
    per_group = GROUP_M * tl.cdiv(N, BLOCK_N)
    first = pid // per_group * GROUP_M
    height = min(tl.cdiv(M, BLOCK_M) - first, GROUP_M)
    m = (first + pid % per_group % height) * BLOCK_M + tl.arange(0, BLOCK_M)
    n = pid % per_group // height * BLOCK_N + tl.arange(0, BLOCK_N)
    k = tl.arange(0, BLOCK_K)
    a = a_ptr + m.to(tl.int64)[:, None] * K + k[None, :]
    b = b_ptr + k.to(tl.int64)[:, None] * N + n[None, :]
    acc = tl.zeros([BLOCK_M, BLOCK_N], dtype=tl.float32)
    for start in range(0, K, BLOCK_K):
        a_tile = tl.load(a, mask=(m[:, None] < M) & (start + k[None, :] < K), other=0.0)
        b_tile = tl.load(b, mask=(start + k[:, None] < K) & (n[None, :] < N), other=0.0)
        acc = tl.dot(a_tile, b_tile, acc)
        a += BLOCK_K
        b += BLOCK_K * N
    tl.store(c_ptr + m.to(tl.int64)[:, None] * N + n[None, :], acc.to(c_ptr.dtype.element_ty), mask=(m[:, None] < M) & (n[None, :] < N))


@triton.jit
def vectorised(a_ptr, b_ptr, c_ptr, M, N, K, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr, GROUP_M: tl.constexpr,
               EVEN_K: tl.constexpr):
    """Loads without masks, of 16 bytes a thread: rows past the edge wrap around instead, and are never stored.

    The wrapped rows of a tile are still neighbours in memory where N is a multiple of 16, which the
    hints say, since `%` hides it.
    """
    pid = tl.program_id(0)
    per_group = GROUP_M * tl.cdiv(N, BLOCK_N)
    first = pid // per_group * GROUP_M
    height = min(tl.cdiv(M, BLOCK_M) - first, GROUP_M)
    m = (first + pid % per_group % height) * BLOCK_M + tl.arange(0, BLOCK_M)
    n = pid % per_group // height * BLOCK_N + tl.arange(0, BLOCK_N)
    k = tl.arange(0, BLOCK_K)
    a_rows = m % M
    b_columns = n % N
    if EVEN_K:
        b_columns = tl.max_contiguous(tl.multiple_of(b_columns, 8), 8)
    a = a_ptr + a_rows.to(tl.int64)[:, None] * K + k[None, :]
    b = b_ptr + k.to(tl.int64)[:, None] * N + b_columns[None, :]
    acc = tl.zeros([BLOCK_M, BLOCK_N], dtype=tl.float32)
    for start in range(0, K, BLOCK_K):
        if EVEN_K:
            a_tile = tl.load(a)
            b_tile = tl.load(b)
        else:
            a_tile = tl.load(a, mask=k[None, :] < K - start, other=0.0)
            b_tile = tl.load(b, mask=k[:, None] < K - start, other=0.0)
        acc = tl.dot(a_tile, b_tile, acc)
        a += BLOCK_K
        b += BLOCK_K * N
    tl.store(c_ptr + m.to(tl.int64)[:, None] * N + n[None, :], acc.to(c_ptr.dtype.element_ty), mask=(m[:, None] < M) & (n[None, :] < N))


@triton.jit
def bulk(a_desc, b_desc, c_desc, M, N, K, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr, GROUP_M: tl.constexpr):
    """Tensor descriptors: one thread asks for a whole block, and the others spend no instruction on addresses."""
    pid = tl.program_id(0)
    per_group = GROUP_M * tl.cdiv(N, BLOCK_N)
    first = pid // per_group * GROUP_M
    height = min(tl.cdiv(M, BLOCK_M) - first, GROUP_M)
    m = (first + pid % per_group % height) * BLOCK_M
    n = pid % per_group // height * BLOCK_N
    acc = tl.zeros([BLOCK_M, BLOCK_N], dtype=tl.float32)
    for k in range(0, K, BLOCK_K):
        acc = tl.dot(a_desc.load([m, k]), b_desc.load([k, n]), acc)
    c_desc.store([m, n], acc.to(c_desc.dtype))
