"""Sorting and the k largest along rows, with the places that the elements had.

A float and its column make one integer of 64 bits: the float's bits, turned so that they order as
the numbers do, above the column. Sorting those sorts both at once, equal numbers by column; -0 comes
before 0, and NaN beyond the infinities by its sign.
"""
import triton
import triton.language as tl

LEAST = tl.constexpr(-(1 << 63))


@triton.jit
def ordered(x):
    """f32 as i32 of the same order; its own inverse on the bits."""
    bits = x.to(tl.int32, bitcast=True)
    return bits ^ ((bits >> 31) & 0x7FFFFFFF)


@triton.jit
def with_column(x, columns, DESCENDING: tl.constexpr):
    """Keys that sort by x and then by column. Descending, the lower column is the greater key."""
    low = (0x7FFFFFFF - columns) if DESCENDING else columns
    return (ordered(x).to(tl.int64) << 32) | low.to(tl.int64)


@triton.jit
def number_of(key):
    bits = (key >> 32).to(tl.int32)
    return (bits ^ ((bits >> 31) & 0x7FFFFFFF)).to(tl.float32, bitcast=True)


@triton.jit
def column_of(key, DESCENDING: tl.constexpr):
    low = key.to(tl.int32)
    return 0x7FFFFFFF - low if DESCENDING else low


@triton.jit
def sort_rows(x_ptr, y_ptr, index_ptr, stride_x, N, DESCENDING: tl.constexpr, BLOCK: tl.constexpr):
    """One row a program, held at once: a bitonic network of log2(N)^2 / 2 steps, within threads and by shuffles where it can."""
    row = tl.program_id(0).to(tl.int64)
    columns = tl.arange(0, BLOCK)
    mask = columns < N
    x = tl.load(x_ptr + row * stride_x + columns, mask=mask, other=0.0).to(tl.float32)
    # What fills the row up goes to its end.
    key = tl.where(mask, with_column(x, columns, DESCENDING), LEAST if DESCENDING else 0x7FFFFFFFFFFFFFFF)
    key = tl.sort(key, descending=DESCENDING)
    tl.store(y_ptr + row * N + columns, number_of(key).to(y_ptr.dtype.element_ty), mask=mask)
    tl.store(index_ptr + row * N + columns, column_of(key, DESCENDING), mask=mask)


@triton.jit
def top_k_rows(x_ptr, y_ptr, index_ptr, stride_x, N, K, BLOCK_K: tl.constexpr, BLOCK: tl.constexpr):
    """The K largest of a row of any length, largest first: of each block the best BLOCK_K, which meet the best so far."""
    row = tl.program_id(0).to(tl.int64)
    columns = tl.arange(0, BLOCK)
    best = tl.full([BLOCK_K], LEAST, tl.int64)
    for start in range(0, N, BLOCK):
        at = start + columns
        mask = at < N
        x = tl.load(x_ptr + row * stride_x + at, mask=mask, other=0.0).to(tl.float32)
        key = tl.where(mask, with_column(x, at, True), LEAST)
        block = tl.topk(key, BLOCK_K)
        # Both are sorted: of best[i] and block[K - 1 - i] the larger belong to the best K of the two.
        best = tl.sort(tl.maximum(best, tl.flip(block, 0)), descending=True)
    places = tl.arange(0, BLOCK_K)
    mask = places < K
    tl.store(y_ptr + row * K + places, number_of(best).to(y_ptr.dtype.element_ty), mask=mask)
    tl.store(index_ptr + row * K + places, column_of(best, True), mask=mask)
