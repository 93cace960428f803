"""The experts' own products. Rows stand in the experts' order; the first product fetches them from the tokens itself."""
import triton
import triton.language as tl


@triton.jit
def expert_of(offsets_ptr, row_tile, E, BLOCK_E: tl.constexpr, BLOCK_M: tl.constexpr):
    """Which expert a tile of rows belongs to (E if to none), and its rows: each expert's tiles begin anew."""
    lanes = tl.arange(0, BLOCK_E)
    starts = tl.load(offsets_ptr + lanes, mask=lanes < E, other=0)
    ends = tl.load(offsets_ptr + lanes + 1, mask=lanes < E, other=0)
    tiles = tl.cdiv(ends - starts, BLOCK_M)
    after = tl.cumsum(tiles, axis=0)
    expert = tl.sum((after <= row_tile).to(tl.int32), axis=0)
    mine = lanes == expert
    first = tl.sum(tl.where(mine, starts + (row_tile - after + tiles) * BLOCK_M, 0), axis=0)
    last = tl.sum(tl.where(mine, ends, 0), axis=0)
    return tl.minimum(expert, E), first, last


@triton.jit
def gate_and_up(x_ptr, source_ptr, w_ptr, y_ptr, offsets_ptr, E, N, H, K: tl.constexpr, BLOCK_E: tl.constexpr,
                BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr, EVEN: tl.constexpr, PRECISION: tl.constexpr):
    """y = silu(x @ gate) * (x @ up), gate and up the halves of w[e] of [H, 2 N]: both products of a tile in one program."""
    expert, first, last = expert_of(offsets_ptr, tl.program_id(0), E, BLOCK_E, BLOCK_M)
    if expert >= E:
        return
    m = first + tl.arange(0, BLOCK_M)
    n = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    k = tl.arange(0, BLOCK_K)
    # Rows past the expert's read its last one: in bounds without a mask, and never stored.
    token = tl.load(source_ptr + tl.minimum(m, last - 1)) // K
    x = x_ptr + token.to(tl.int64)[:, None] * H + k[None, :]
    gate = w_ptr + expert.to(tl.int64) * H * 2 * N + k.to(tl.int64)[:, None] * 2 * N + (n % N)[None, :]
    g = tl.zeros([BLOCK_M, BLOCK_N], dtype=tl.float32)
    u = tl.zeros([BLOCK_M, BLOCK_N], dtype=tl.float32)
    for start in range(0, H, BLOCK_K):
        if EVEN:
            x_tile = tl.load(x)
            g = tl.dot(x_tile, tl.load(gate), g, input_precision=PRECISION)
            u = tl.dot(x_tile, tl.load(gate + N), u, input_precision=PRECISION)
        else:
            x_tile = tl.load(x, mask=k[None, :] < H - start, other=0.0)
            g = tl.dot(x_tile, tl.load(gate, mask=k[:, None] < H - start, other=0.0), g, input_precision=PRECISION)
            u = tl.dot(x_tile, tl.load(gate + N, mask=k[:, None] < H - start, other=0.0), u, input_precision=PRECISION)
        x += BLOCK_K
        gate += tl.cast(BLOCK_K, tl.int64) * 2 * N
    y = g * tl.sigmoid(g) * u
    tl.store(y_ptr + m.to(tl.int64)[:, None] * N + n[None, :], y.to(y_ptr.dtype.element_ty), mask=(m[:, None] < last) & (n[None, :] < N))


@triton.jit
def down(x_ptr, w_ptr, y_ptr, offsets_ptr, E, N, H, BLOCK_E: tl.constexpr,
         BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr, EVEN: tl.constexpr, PRECISION: tl.constexpr):
    """y = x @ w[e] of [N, H], row by row of the experts' order."""
    expert, first, last = expert_of(offsets_ptr, tl.program_id(0), E, BLOCK_E, BLOCK_M)
    if expert >= E:
        return
    m = first + tl.arange(0, BLOCK_M)
    h = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    k = tl.arange(0, BLOCK_K)
    x = x_ptr + tl.minimum(m, last - 1).to(tl.int64)[:, None] * N + k[None, :]
    w = w_ptr + expert.to(tl.int64) * N * H + k.to(tl.int64)[:, None] * H + (h % H)[None, :]
    acc = tl.zeros([BLOCK_M, BLOCK_N], dtype=tl.float32)
    for start in range(0, N, BLOCK_K):
        if EVEN:
            acc = tl.dot(tl.load(x), tl.load(w), acc, input_precision=PRECISION)
        else:
            x_tile = tl.load(x, mask=k[None, :] < N - start, other=0.0)
            acc = tl.dot(x_tile, tl.load(w, mask=k[:, None] < N - start, other=0.0), acc, input_precision=PRECISION)
        x += BLOCK_K
        w += tl.cast(BLOCK_K, tl.int64) * H
    tl.store(y_ptr + m.to(tl.int64)[:, None] * H + h[None, :], acc.to(y_ptr.dtype.element_ty), mask=(m[:, None] < last) & (h[None, :] < H))
