import triton
import triton.language as tl


@triton.jit
def product(a_ptr, b_ptr, c_ptr, K, N, BLOCK: tl.constexpr):
    """Tiles of C by row and column: those of a row share a tile of A, those of a column one of B."""
    i = tl.arange(0, BLOCK)
    m = tl.program_id(0) * BLOCK + i
    n = tl.program_id(1) * BLOCK + i
    a = a_ptr + m[:, None] * K + i[None, :]
    b = b_ptr + i[:, None] * N + n[None, :]
    acc = tl.zeros([BLOCK, BLOCK], dtype=tl.float32)
    for start in range(0, K, BLOCK):
        acc += tl.dot(tl.load(a), tl.load(b))
        a += BLOCK
        b += BLOCK * N
    tl.store(c_ptr + m[:, None] * N + n[None, :], acc)


@triton.jit
def heads_first(q_ptr, k_ptr, out_ptr, n, BLOCK: tl.constexpr, D: tl.constexpr):
    """Blocks of queries of one head read the same keys."""
    head, block = tl.program_id(0), tl.program_id(1)
    i = tl.arange(0, BLOCK)
    d = tl.arange(0, D)
    q = tl.load(q_ptr + ((head * n + block * BLOCK + i) * D)[:, None] + d[None, :])
    best = tl.full([BLOCK], float("-inf"), tl.float32)
    for start in range(0, (block + 1) * BLOCK, BLOCK):
        k = tl.load(k_ptr + ((head * n + start + i) * D)[:, None] + d[None, :])
        best = tl.maximum(best, tl.max(tl.dot(q, tl.trans(k)), axis=1))
    tl.store(out_ptr + head * n + block * BLOCK + i, best)


@triton.jit
def rows_in_parts(x_ptr, mean_ptr, out_ptr, rows, n, BLOCK: tl.constexpr):
    """Each program reads a part of its own, and a mean for each row, which is little."""
    part, column = tl.program_id(0), tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    total = tl.zeros([BLOCK], dtype=tl.float32)
    for row in range(part * rows, (part + 1) * rows):
        total += tl.load(x_ptr + row * n + column) - tl.load(mean_ptr + row)
    tl.store(out_ptr + part * n + column, total)


@triton.jit
def chosen_columns(x_ptr, index_ptr, out_ptr, n, BLOCK: tl.constexpr):
    """Programs of one row find all of their elements in it."""
    row, column = tl.program_id(0), tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    index = tl.load(index_ptr + column)
    tl.store(out_ptr + row * n + column, tl.load(x_ptr + row * n + index))


@triton.jit
def chosen_rows(x_ptr, index_ptr, out_ptr, n, BLOCK: tl.constexpr):
    """Each program reads a part of some other row."""
    column = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    row = tl.load(index_ptr + tl.program_id(0) + tl.arange(0, 4))
    place = row[:, None] * n + column[None, :]
    tl.store(out_ptr + place, tl.load(x_ptr + place) + 1)


@triton.jit
def turned_over(x_ptr, out_ptr, BLOCK: tl.constexpr):
    """What goes on along one axis where it is read goes on along the other where it is stored."""
    m = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    n = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out_ptr + n[None, :] * 4096 + m[:, None], tl.load(x_ptr + m[:, None] * 4096 + n[None, :]))


@triton.jit
def told(out_ptr, n, BLOCK: tl.constexpr):
    tl.device_print("row", tl.program_id(0))
    tl.store(out_ptr + tl.program_id(0) * n + tl.program_id(1) * BLOCK + tl.arange(0, BLOCK), 1.0)


@triton.jit
def added(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out_ptr + tl.program_id(0) * n + at, tl.atomic_add(x_ptr + at, 1.0))


@triton.jit
def split_rows(x_ptr, out_ptr, columns, apart, BLOCK: tl.constexpr):
    """Rows as they lie."""
    parts = tl.cdiv(columns, BLOCK)
    row, part = tl.program_id(0) // parts, tl.program_id(0) % parts
    at = part * BLOCK + tl.arange(0, BLOCK)
    tl.store(out_ptr + row * columns + at, tl.load(x_ptr + row * apart + at, mask=at < columns), mask=at < columns)


@triton.jit
def split_far(x_ptr, out_ptr, columns, apart, next_row, BLOCK: tl.constexpr):
    """Rows that lie across, of which the next one is somewhere else."""
    parts = tl.cdiv(columns, BLOCK)
    row, part = tl.program_id(0) // parts, tl.program_id(0) % parts
    at = part * BLOCK + tl.arange(0, BLOCK)
    tl.store(out_ptr + row * columns + at, tl.load(x_ptr + at * apart + row * next_row, mask=at < columns), mask=at < columns)
