"""Products over tensor descriptors that the kernel makes: one program computes many tiles of many matrices."""
import triton
import triton.language as tl


@triton.jit
def persistent(a_ptr, b_ptr, c_ptr, M, N, K, PROGRAMS: tl.constexpr,
               BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
               FLATTEN: tl.constexpr, HALVES: tl.constexpr):
    """Descriptors made once. FLATTEN: the next tile's loads may start before this tile's stores; HALVES: store in two parts."""
    a = tl.make_tensor_descriptor(a_ptr, [M, K], [K, 1], [BLOCK_M, BLOCK_K])
    b = tl.make_tensor_descriptor(b_ptr, [K, N], [N, 1], [BLOCK_K, BLOCK_N])
    c = tl.make_tensor_descriptor(c_ptr, [M, N], [N, 1], [BLOCK_M, BLOCK_N // 2 if HALVES else BLOCK_N])
    columns = tl.cdiv(N, BLOCK_N)
    for tile in tl.range(tl.program_id(0), tl.cdiv(M, BLOCK_M) * columns, PROGRAMS, flatten=FLATTEN):
        m = tile // columns * BLOCK_M
        n = tile % columns * BLOCK_N
        acc = tl.zeros([BLOCK_M, BLOCK_N], dtype=tl.float32)
        for k in range(0, K, BLOCK_K):
            acc = tl.dot(a.load([m, k]), b.load([k, n]), acc)
        if HALVES:
            left, right = acc.reshape(BLOCK_M, 2, BLOCK_N // 2).permute(0, 2, 1).split()
            c.store([m, n], left.to(c.dtype))
            c.store([m, n + BLOCK_N // 2], right.to(c.dtype))
        else:
            c.store([m, n], acc.to(c.dtype))


@triton.jit
def batched(a_ptr, b_ptr, c_ptr, G, M, N, K, PROGRAMS: tl.constexpr,
            BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr):
    """Descriptors made again for each matrix of the batch."""
    columns = tl.cdiv(N, BLOCK_N)
    tiles = tl.cdiv(M, BLOCK_M) * columns
    for g in range(G):
        a = tl.make_tensor_descriptor(a_ptr + g * M * K, [M, K], [K, 1], [BLOCK_M, BLOCK_K])
        b = tl.make_tensor_descriptor(b_ptr + g * K * N, [K, N], [N, 1], [BLOCK_K, BLOCK_N])
        c = tl.make_tensor_descriptor(c_ptr + g * M * N, [M, N], [N, 1], [BLOCK_M, BLOCK_N])
        for tile in range(tl.program_id(0), tiles, PROGRAMS):
            m = tile // columns * BLOCK_M
            n = tile % columns * BLOCK_N
            acc = tl.zeros([BLOCK_M, BLOCK_N], dtype=tl.float32)
            for k in range(0, K, BLOCK_K):
                acc = tl.dot(a.load([m, k]), b.load([k, n]), acc)
            c.store([m, n], acc.to(c.dtype))


@triton.jit
def remade(a_ptr, b_ptr, c_ptr, M, N, K, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr):
    """Descriptors made in the loop that uses them."""
    m = tl.program_id(0) * BLOCK_M
    n = tl.program_id(1) * BLOCK_N
    acc = tl.zeros([BLOCK_M, BLOCK_N], dtype=tl.float32)
    for k in range(0, K, BLOCK_K):
        a = tl.make_tensor_descriptor(a_ptr + k, [M, K - k], [K, 1], [BLOCK_M, BLOCK_K])
        b = tl.make_tensor_descriptor(b_ptr + k * N, [K - k, N], [N, 1], [BLOCK_K, BLOCK_N])
        acc = tl.dot(a.load([m, 0]), b.load([0, n]), acc)
    c = tl.make_tensor_descriptor(c_ptr, [M, N], [N, 1], [BLOCK_M, BLOCK_N])
    c.store([m, n], acc.to(c.dtype))
