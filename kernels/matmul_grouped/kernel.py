"""Grouped matrix products: rows [offsets[g], offsets[g + 1]) of A [T, K] meet B[g] of [G, K, N]. Sizes are uneven,
may be 0, and are known to the device alone."""
import triton
import triton.language as tl


@triton.jit
def group_tile(a_ptr, b_ptr, c_ptr, group, first, last, tile_m, tile_n, N, K,
               stride_am, stride_bg, stride_bk, stride_bn, stride_cm,
               BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr, EVEN_K: tl.constexpr, PRECISION: tl.constexpr):
    """One tile of the product of a group that has rows [first, last)."""
    m = first + tile_m * BLOCK_M + tl.arange(0, BLOCK_M)
    n = tile_n * BLOCK_N + tl.arange(0, BLOCK_N)
    k = tl.arange(0, BLOCK_K)
    # Rows and columns past the edge read the last one: in bounds without a mask, and never stored.
    a = a_ptr + tl.minimum(m, last - 1).to(tl.int64)[:, None] * stride_am + k[None, :]
    b = b_ptr + group.to(tl.int64) * stride_bg + k.to(tl.int64)[:, None] * stride_bk + (n % N).to(tl.int64)[None, :] * stride_bn
    acc = tl.zeros([BLOCK_M, BLOCK_N], dtype=tl.float32)
    for start in range(0, K, BLOCK_K):
        if EVEN_K:
            a_tile = tl.load(a)
            b_tile = tl.load(b)
        else:
            a_tile = tl.load(a, mask=k[None, :] < K - start, other=0.0)
            b_tile = tl.load(b, mask=k[:, None] < K - start, other=0.0)
        acc = tl.dot(a_tile, b_tile, acc, input_precision=PRECISION)
        a += BLOCK_K
        b += tl.cast(stride_bk, tl.int64) * BLOCK_K
    c = c_ptr + m.to(tl.int64)[:, None] * stride_cm + n[None, :]
    tl.store(c, acc.to(c_ptr.dtype.element_ty), mask=(m[:, None] < last) & (n[None, :] < N))


@triton.jit
def grouped_walk(a_ptr, b_ptr, c_ptr, offsets_ptr, G, N, K, stride_am, stride_bg, stride_bk, stride_bn, stride_cm,
                 BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr, EVEN_K: tl.constexpr, PRECISION: tl.constexpr):
    """As many programs as the machine runs at once, which walk the tiles of all groups by turns."""
    columns = tl.cdiv(N, BLOCK_N)
    tile = tl.program_id(0)
    before = 0
    first = tl.load(offsets_ptr)
    for group in range(G):
        last = tl.load(offsets_ptr + group + 1)
        rows = tl.cdiv(last - first, BLOCK_M)
        end = before + rows * columns
        while tile < end:
            # Tiles of one column of tiles are neighbours: they share B's block, the operand that few rows reuse.
            within = tile - before
            group_tile(a_ptr, b_ptr, c_ptr, tl.cast(group, tl.int32), first, last, within % rows, within // rows, N, K,
                       stride_am, stride_bg, stride_bk, stride_bn, stride_cm, BLOCK_M, BLOCK_N, BLOCK_K, EVEN_K, PRECISION)
            tile += tl.num_programs(0)
        before = end
        first = last


@triton.jit
def grouped_search(a_ptr, b_ptr, c_ptr, offsets_ptr, G, N, K, stride_am, stride_bg, stride_bk, stride_bn, stride_cm,
                   BLOCK_G: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
                   EVEN_K: tl.constexpr, PRECISION: tl.constexpr):
    """One tile a program, for the most tiles that T rows in G groups can need; a program finds its group at once, or leaves."""
    groups = tl.arange(0, BLOCK_G)
    starts = tl.load(offsets_ptr + groups, mask=groups < G, other=0)
    ends = tl.load(offsets_ptr + groups + 1, mask=groups < G, other=0)
    tiles = tl.cdiv(ends - starts, BLOCK_M)
    tiles_after = tl.cumsum(tiles, axis=0)
    row = tl.program_id(0)
    group = tl.sum((tiles_after <= row).to(tl.int32), axis=0)
    if group >= G:
        return
    mine = groups == group
    tile_m = row - tl.sum(tl.where(mine, tiles_after - tiles, 0), axis=0)
    first = tl.sum(tl.where(mine, starts, 0), axis=0)
    last = tl.sum(tl.where(mine, ends, 0), axis=0)
    group_tile(a_ptr, b_ptr, c_ptr, group, first, last, tile_m, tl.program_id(1), N, K,
               stride_am, stride_bg, stride_bk, stride_bn, stride_cm, BLOCK_M, BLOCK_N, BLOCK_K, EVEN_K, PRECISION)


@triton.jit
def grouped_weight_gradient(a_ptr, dc_ptr, db_ptr, offsets_ptr, N, K, stride_am, stride_dcm,
                            BLOCK_K: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_M: tl.constexpr, PRECISION: tl.constexpr):
    """dB[g] = A_g^T dC_g: one tile of one group a program, which sums over the group's rows. A group of none gets zeros."""
    group = tl.program_id(1)
    first = tl.load(offsets_ptr + group)
    last = tl.load(offsets_ptr + group + 1)
    tiles = tl.cdiv(K, BLOCK_K)
    k = tl.program_id(0) % tiles * BLOCK_K + tl.arange(0, BLOCK_K)
    n = tl.program_id(0) // tiles * BLOCK_N + tl.arange(0, BLOCK_N)
    rows = tl.arange(0, BLOCK_M)
    a = a_ptr + (k % K)[:, None]
    dc = dc_ptr + (n % N)[None, :]
    acc = tl.zeros([BLOCK_K, BLOCK_N], dtype=tl.float32)
    for start in range(first, last, BLOCK_M):
        m = start + rows
        at = m.to(tl.int64)
        a_tile = tl.load(a + at[None, :] * stride_am, mask=m[None, :] < last, other=0.0)
        dc_tile = tl.load(dc + at[:, None] * stride_dcm, mask=m[:, None] < last, other=0.0)
        acc = tl.dot(a_tile, dc_tile, acc, input_precision=PRECISION)
    db = db_ptr + (group.to(tl.int64) * K + k[:, None]) * N + n[None, :]
    tl.store(db, acc.to(db_ptr.dtype.element_ty), mask=(k[:, None] < K) & (n[None, :] < N))


@triton.jit
def grouped_weight_gradient_walk(a_ptr, dc_ptr, db_ptr, offsets_ptr, G, N, K, stride_am, stride_dcm,
                                 BLOCK_K: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_M: tl.constexpr, PRECISION: tl.constexpr):
    """The same by as many programs as the machine runs at once: the next tile's first rows are on their way while one is stored.

    A group of no rows has a step too, which masks all of it: so the steps of all tiles are one row of steps.
    """
    high = tl.cdiv(K, BLOCK_K)
    tiles = high * tl.cdiv(N, BLOCK_N)
    rows = tl.arange(0, BLOCK_M)
    for tile in tl.range(tl.program_id(0), G * tiles, tl.num_programs(0), flatten=True):
        group = tile // tiles
        within = tile % tiles
        first = tl.load(offsets_ptr + group)
        last = tl.load(offsets_ptr + group + 1)
        k = within % high * BLOCK_K + tl.arange(0, BLOCK_K)
        n = within // high * BLOCK_N + tl.arange(0, BLOCK_N)
        a = a_ptr + (k % K)[:, None]
        dc = dc_ptr + (n % N)[None, :]
        acc = tl.zeros([BLOCK_K, BLOCK_N], dtype=tl.float32)
        for step in range(tl.maximum(tl.cdiv(last - first, BLOCK_M), 1)):
            m = first + step * BLOCK_M + rows
            at = m.to(tl.int64)
            a_tile = tl.load(a + at[None, :] * stride_am, mask=m[None, :] < last, other=0.0)
            dc_tile = tl.load(dc + at[:, None] * stride_dcm, mask=m[:, None] < last, other=0.0)
            acc = tl.dot(a_tile, dc_tile, acc, input_precision=PRECISION)
        db = db_ptr + (group.to(tl.int64) * K + k[:, None]) * N + n[None, :]
        tl.store(db, acc.to(db_ptr.dtype.element_ty), mask=(k[:, None] < K) & (n[None, :] < N))


@triton.jit
def grouped_weight_gradient_descriptors(a_ptr, dc_ptr, db_desc, offsets_ptr, N, K, stride_am, stride_dcm,
                                        BLOCK_K: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_M: tl.constexpr, PRECISION: tl.constexpr):
    """The same by blocks of memory: the programs of a group describe its rows once and walk its tiles by turns.

    Rows past a group's last read as zeros. A group of none reads the row past its one, so that each tile has a step.
    """
    group = tl.program_id(1)
    first = tl.load(offsets_ptr + group)
    count = tl.load(offsets_ptr + group + 1) - first
    start = tl.where(count == 0, 1, 0)
    count = tl.maximum(count, 1)
    at = first.to(tl.int64)
    a = tl.make_tensor_descriptor(a_ptr + at * stride_am, shape=[count, K], strides=[stride_am, 1], block_shape=[BLOCK_M, BLOCK_K])
    dc = tl.make_tensor_descriptor(dc_ptr + at * stride_dcm, shape=[count, N], strides=[stride_dcm, 1], block_shape=[BLOCK_M, BLOCK_N])
    high = tl.cdiv(K, BLOCK_K)
    for tile in tl.range(tl.program_id(0), high * tl.cdiv(N, BLOCK_N), tl.num_programs(0), flatten=True):
        k = tile % high * BLOCK_K
        n = tile // high * BLOCK_N
        acc = tl.zeros([BLOCK_K, BLOCK_N], dtype=tl.float32)
        for m in range(0, count, BLOCK_M):
            acc = tl.dot(a.load([start + m, k]).T, dc.load([start + m, n]), acc, input_precision=PRECISION)
        db_desc.store([group, k, n], acc.to(db_desc.dtype)[None, :, :])
