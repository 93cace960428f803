"""Running sums along rows and along one long vector, and histograms."""
import triton
import triton.language as tl


@triton.jit
def cumsum_rows(x_ptr, y_ptr, stride_x, N, BLOCK: tl.constexpr):
    """One row a program, block after block; what came before is one number that each block adds."""
    row = tl.program_id(0).to(tl.int64)
    columns = tl.arange(0, BLOCK)
    SUM: tl.constexpr = tl.float32 if x_ptr.dtype.element_ty.is_floating() else x_ptr.dtype.element_ty
    before = tl.zeros([], SUM)
    for start in range(0, N, BLOCK):
        mask = start + columns < N
        x = tl.load(x_ptr + row * stride_x + start + columns, mask=mask, other=0).to(SUM)
        y = before + tl.cumsum(x, axis=0)
        tl.store(y_ptr + row * N + start + columns, y.to(y_ptr.dtype.element_ty), mask=mask)
        if start + BLOCK < N:
            before += tl.sum(x, axis=0)


@triton.jit
def block_sums(x_ptr, sums_ptr, n, BLOCK: tl.constexpr):
    """First of three launches: the sum of each block."""
    at = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    tl.store(sums_ptr + tl.program_id(0), tl.sum(tl.load(x_ptr + at, mask=at < n, other=0.0).to(tl.float32), axis=0))


@triton.jit
def add_before(x_ptr, sums_ptr, y_ptr, n, BLOCK: tl.constexpr):
    """Third: each block's own running sums on top of those of all blocks before it."""
    block = tl.program_id(0)
    at = block.to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n, other=0.0).to(tl.float32)
    before = tl.load(sums_ptr + block - 1, mask=block > 0, other=0.0)
    tl.store(y_ptr + at, (before + tl.cumsum(x, axis=0)).to(y_ptr.dtype.element_ty), mask=at < n)


@triton.jit
def look_back(x_ptr, y_ptr, ticket_ptr, state_ptr, n, BLOCK: tl.constexpr, WINDOW: tl.constexpr = 32):
    """One launch that reads x once. A block publishes its sum, then adds those of the blocks before it, from the
    nearest back to one that already knows all before itself, WINDOW of them at once.

    A state holds a number and above it what the number is: 0 nothing yet, 1 the block's sum, 2 the sum
    up to its end. One word says both, so no other memory has to be ordered with it. Blocks are numbered as
    they start, so what a block waits for is always running. How far it looks depends on timing, and with it
    the order in which floats are added.
    """
    block = tl.atomic_add(ticket_ptr, 1, sem="relaxed")
    at = block.to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n, other=0.0).to(tl.float32)
    total = tl.sum(x, axis=0)
    tl.atomic_xchg(state_ptr + block, known(total, tl.where(block == 0, 2, 1)), sem="relaxed")
    before = 0.0
    nearest = block - 1
    back = tl.arange(0, WINDOW)
    while nearest >= 0:
        # A read that sees what other programs have published.
        inside = back <= nearest
        state = tl.atomic_add(state_ptr + (nearest - back), tl.zeros([WINDOW], tl.int64), mask=inside, sem="relaxed")
        kind = tl.where(inside, (state >> 32).to(tl.int32), 0)
        missing = tl.min(tl.where(kind == 0, back, WINDOW), axis=0)
        whole = tl.min(tl.where(kind == 2, back, WINDOW), axis=0)
        number = state.to(tl.int32).to(tl.float32, bitcast=True)
        before += tl.sum(tl.where((back < missing) & (back <= whole), number, 0.0), axis=0)
        nearest = tl.where(whole < missing, -1, nearest - missing)
    if block > 0:
        tl.atomic_xchg(state_ptr + block, known(before + total, 2), sem="relaxed")
    tl.store(y_ptr + at, (before + tl.cumsum(x, axis=0)).to(y_ptr.dtype.element_ty), mask=at < n)


@triton.jit
def known(number, kind):
    bits = number.to(tl.int32, bitcast=True).to(tl.int64) & 0xFFFFFFFF
    return (tl.cast(kind, tl.int64) << 32) | bits


@triton.jit
def histogram(x_ptr, counts_ptr, n, BINS, BLOCK_BINS: tl.constexpr, BLOCK: tl.constexpr):
    """Programs walk the vector by turns, count for themselves, and add to the whole once. Numbers outside [0, BINS) do not count."""
    counts = tl.zeros([BLOCK_BINS], tl.int32)
    for start in range(tl.program_id(0) * BLOCK, n, tl.num_programs(0) * BLOCK):
        at = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + at, mask=at < n, other=-1)
        counts += tl.histogram(x, BLOCK_BINS, mask=(x >= 0) & (x < BINS))
    bins = tl.arange(0, BLOCK_BINS)
    tl.atomic_add(counts_ptr + bins, counts, mask=(bins < BINS) & (counts > 0), sem="relaxed")


@triton.jit
def clear(x_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x_ptr + at, tl.zeros([BLOCK], x_ptr.dtype.element_ty), mask=at < n)
