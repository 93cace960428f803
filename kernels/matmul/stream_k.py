"""Stream-K: work is divided by steps of the K loop, not by tiles, so that no program idles in the last wave.

As many programs as fit the machine at once first take whole tiles, in full waves. The tiles that are
left, fewer than programs, are cut into equal runs of K steps. A run touches two tiles at most; the
parts go to memory and a second launch adds those of each tile in order, so that the result does not
depend on timing.
"""
import triton
import triton.language as tl

from kernel import activate, tile_of


@triton.jit
def tile_product(a_ptr, b_ptr, tile, first, last, M, N, K, stride_am, stride_ak, stride_bk, stride_bn,
                 BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr, GROUP_M: tl.constexpr,
                 EVEN_K: tl.constexpr, PRECISION: tl.constexpr):
    """Steps [first, last) of a tile's K loop, and the tile's rows and columns."""
    tile_m, tile_n = tile_of(tile, M, N, BLOCK_M, BLOCK_N, GROUP_M)
    m = tile_m * BLOCK_M + tl.arange(0, BLOCK_M)
    n = tile_n * BLOCK_N + tl.arange(0, BLOCK_N)
    k = tl.arange(0, BLOCK_K)
    # Rows past the edge wrap around: they are read in bounds without a mask, and never stored.
    skipped = tl.cast(first, tl.int64) * BLOCK_K
    a = a_ptr + (m % M).to(tl.int64)[:, None] * stride_am + (skipped + k)[None, :] * stride_ak
    b = b_ptr + (skipped + k)[:, None] * stride_bk + (n % N).to(tl.int64)[None, :] * stride_bn
    acc = tl.zeros([BLOCK_M, BLOCK_N], dtype=tl.float32)
    for step in range(first, last):
        if EVEN_K:
            a_tile = tl.load(a)
            b_tile = tl.load(b)
        else:
            a_tile = tl.load(a, mask=k[None, :] < K - step * BLOCK_K, other=0.0)
            b_tile = tl.load(b, mask=k[:, None] < K - step * BLOCK_K, other=0.0)
        acc = tl.dot(a_tile, b_tile, acc, input_precision=PRECISION)
        a += tl.cast(stride_ak, tl.int64) * BLOCK_K
        b += tl.cast(stride_bk, tl.int64) * BLOCK_K
    return acc, m, n


@triton.jit
def store_tile(acc, m, n, bias_ptr, c_ptr, M, N, stride_cm, stride_cn, ACTIVATION: tl.constexpr):
    if bias_ptr is not None:
        acc += tl.load(bias_ptr + n, mask=n < N, other=0.0).to(tl.float32)[None, :]
    c = activate(acc, ACTIVATION).to(c_ptr.dtype.element_ty)
    offsets = m.to(tl.int64)[:, None] * stride_cm + n.to(tl.int64)[None, :] * stride_cn
    tl.store(c_ptr + offsets, c, mask=(m[:, None] < M) & (n[None, :] < N))


@triton.jit
def matmul_stream_k(a_ptr, b_ptr, bias_ptr, c_ptr, partial_ptr, M, N, K, WHOLE, RUN,
                    stride_am, stride_ak, stride_bk, stride_bn, stride_cm, stride_cn,
                    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr, GROUP_M: tl.constexpr,
                    EVEN_K: tl.constexpr, ACTIVATION: tl.constexpr, PRECISION: tl.constexpr):
    """The first WHOLE tiles by turns, then a run of RUN steps of the tiles that are left."""
    pid = tl.program_id(0)
    steps = tl.cdiv(K, BLOCK_K)
    for tile in range(pid, WHOLE, tl.num_programs(0)):
        acc, m, n = tile_product(a_ptr, b_ptr, tile, 0, steps, M, N, K, stride_am, stride_ak, stride_bk, stride_bn,
                                 BLOCK_M, BLOCK_N, BLOCK_K, GROUP_M, EVEN_K, PRECISION)
        store_tile(acc, m, n, bias_ptr, c_ptr, M, N, stride_cm, stride_cn, ACTIVATION)

    left = tl.cdiv(M, BLOCK_M) * tl.cdiv(N, BLOCK_N) - WHOLE
    at = pid * RUN
    end = min(at + RUN, left * steps)
    place = tl.arange(0, BLOCK_M)[:, None] * BLOCK_N + tl.arange(0, BLOCK_N)[None, :]
    for slot in range(2):
        if at < end:
            first = at % steps
            last = min(steps, first + end - at)
            acc, m, n = tile_product(a_ptr, b_ptr, WHOLE + at // steps, first, last, M, N, K, stride_am, stride_ak, stride_bk, stride_bn,
                                     BLOCK_M, BLOCK_N, BLOCK_K, GROUP_M, EVEN_K, PRECISION)
            tl.store(partial_ptr + (pid * 2 + slot).to(tl.int64) * (BLOCK_M * BLOCK_N) + place, acc)
            at += last - first


@triton.jit
def join_runs(partial_ptr, bias_ptr, c_ptr, M, N, K, WHOLE, RUN, stride_cm, stride_cn,
              BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr, GROUP_M: tl.constexpr, ROWS: tl.constexpr,
              ACTIVATION: tl.constexpr):
    """ROWS rows of one streamed tile a program: adds the parts of the runs that touch the tile, then the epilogue."""
    streamed = tl.program_id(0)
    tile_m, tile_n = tile_of(WHOLE + streamed, M, N, BLOCK_M, BLOCK_N, GROUP_M)
    rows = tl.program_id(1) * ROWS + tl.arange(0, ROWS)
    columns = tl.arange(0, BLOCK_N)
    place = rows[:, None] * BLOCK_N + columns[None, :]
    steps = tl.cdiv(K, BLOCK_K)
    acc = tl.zeros([ROWS, BLOCK_N], dtype=tl.float32)
    for run in range(streamed * steps // RUN, ((streamed + 1) * steps - 1) // RUN + 1):
        # A run's first part lies in slot 0, a part in its second tile in slot 1.
        slot = run * 2 + tl.where(run * RUN // steps == streamed, 0, 1)
        acc += tl.load(partial_ptr + slot.to(tl.int64) * (BLOCK_M * BLOCK_N) + place)
    store_tile(acc, tile_m * BLOCK_M + rows, tile_n * BLOCK_N + columns, bias_ptr, c_ptr, M, N, stride_cm, stride_cn, ACTIVATION)
