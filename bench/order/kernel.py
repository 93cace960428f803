"""Kernels whose programs are numbered as they stand, for what the order of a launch is worth (bench/CpuKernels.cpp)."""
import triton
import triton.language as tl


@triton.jit
def product(a_ptr, b_ptr, c_ptr, N, K, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
            BY_AXES: tl.constexpr, GROUP: tl.constexpr):
    """C = A @ B of whole tiles. Without BY_AXES a grid of one axis takes GROUP rows of tiles at a time, column by column."""
    if BY_AXES:
        tile_m, tile_n = tl.program_id(0), tl.program_id(1)
    else:
        pid, together = tl.program_id(0), GROUP * (N // BLOCK_N)
        tile_m, tile_n = pid // together * GROUP + pid % GROUP, pid % together // GROUP
    m = tile_m * BLOCK_M + tl.arange(0, BLOCK_M)
    n = tile_n * BLOCK_N + tl.arange(0, BLOCK_N)
    k = tl.arange(0, BLOCK_K)
    a = a_ptr + m[:, None] * K + k[None, :]
    b = b_ptr + k[:, None] * N + n[None, :]
    acc = tl.zeros([BLOCK_M, BLOCK_N], dtype=tl.float32)
    for _ in range(0, K, BLOCK_K):
        acc = tl.dot(tl.load(a), tl.load(b), acc, input_precision="ieee")
        a += BLOCK_K
        b += BLOCK_K * N
    tl.store(c_ptr + m[:, None] * N + n[None, :], acc)


@triton.jit
def attention(q_ptr, k_ptr, v_ptr, o_ptr, heads, n, scale, D: tl.constexpr, BLOCK: tl.constexpr, BY_AXES: tl.constexpr):
    """Softmax attention with the head as the axis that runs fastest, by axes or by number."""
    if BY_AXES:
        head, block = tl.program_id(0), tl.program_id(1)
    else:
        head, block = tl.program_id(0) % heads, tl.program_id(0) // heads
    i, d = tl.arange(0, BLOCK), tl.arange(0, D)
    at = head * n * D + i[:, None] * D + d[None, :]
    q = tl.load(q_ptr + at + block * BLOCK * D) * scale
    k, v = k_ptr + at, v_ptr + at
    most = tl.full([BLOCK], float("-inf"), tl.float32)
    total = tl.zeros([BLOCK], tl.float32)
    acc = tl.zeros([BLOCK, D], tl.float32)
    for _ in range(0, n, BLOCK):
        scores = tl.dot(q, tl.trans(tl.load(k)), input_precision="ieee")
        more = tl.maximum(most, tl.max(scores, axis=1))
        p = tl.exp(scores - more[:, None])
        shrink = tl.exp(most - more)
        total = total * shrink + tl.sum(p, axis=1)
        acc = tl.dot(p, tl.load(v), acc * shrink[:, None], input_precision="ieee")
        most = more
        k += BLOCK * D
        v += BLOCK * D
    tl.store(o_ptr + at + block * BLOCK * D, acc / total[:, None])
