import triton
import triton.language as tl


@triton.jit
def grouped_matmul(a, b, c, starts, G, N, K, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr):
    """Rows starts[g] to starts[g + 1] of A meet the matrix g of B."""
    tile = tl.program_id(0)
    columns = tl.cdiv(N, BLOCK_N)
    before = 0  # tiles of the groups so far
    for g in range(G):
        first = tl.load(starts + g)
        end = tl.load(starts + g + 1)
        tiles = tl.cdiv(end - first, BLOCK_M) * columns
        while tile < before + tiles:
            m = first + (tile - before) // columns * BLOCK_M + tl.arange(0, BLOCK_M)
            n = (tile - before) % columns * BLOCK_N + tl.arange(0, BLOCK_N)
            acc = tl.zeros([BLOCK_M, BLOCK_N], tl.float32)
            for start in range(0, K, BLOCK_K):
                k = start + tl.arange(0, BLOCK_K)
                x = tl.load(a + m[:, None] * K + k[None, :], mask=(m[:, None] < end) & (k[None, :] < K), other=0.0)
                y = tl.load(b + tl.cast(g, tl.int64) * K * N + k[:, None] * N + n[None, :], mask=(k[:, None] < K) & (n[None, :] < N), other=0.0)
                acc = tl.dot(x, y, acc)
            tl.store(c + m[:, None] * N + n[None, :], acc, mask=(m[:, None] < end) & (n[None, :] < N))
            tile += tl.num_programs(0)
        before += tiles
