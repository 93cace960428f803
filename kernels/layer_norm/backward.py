"""dx of a row needs that row alone; dw and db are sums over all rows. The variants differ in how
those sums meet: under a lock, or in rows of their own that are added afterwards."""
import triton
import triton.language as tl


@triton.jit
def row_gradient(x_ptr, w, dy_ptr, mean_ptr, rstd_ptr, dx_ptr, row, N, columns, mask):
    """Stores dx of a row; returns what the row adds to dw and db."""
    at = tl.cast(row, tl.int64) * N + columns
    x = tl.load(x_ptr + at, mask=mask, other=0.0).to(tl.float32)
    dy = tl.load(dy_ptr + at, mask=mask, other=0.0).to(tl.float32)
    mean = tl.load(mean_ptr + row)
    rstd = tl.load(rstd_ptr + row)
    x_hat = tl.where(mask, (x - mean) * rstd, 0.0)
    g = w * dy
    along = tl.sum(x_hat * g, axis=0) / N
    level = tl.sum(g, axis=0) / N
    dx = (g - x_hat * along - level) * rstd
    tl.store(dx_ptr + at, dx.to(dx_ptr.dtype.element_ty), mask=mask)
    return dy * x_hat, dy


@triton.jit
def backward_locked(x_ptr, w_ptr, dy_ptr, mean_ptr, rstd_ptr, dx_ptr, dw_part_ptr, db_part_ptr, lock_ptr, N,
                    GROUPS: tl.constexpr, BLOCK: tl.constexpr):
    """One row a program; rows of a group add to one partial sum, one at a time under the group's lock.

    `lock_ptr` holds GROUPS locks and then GROUPS flags that say whether the partial sum has begun;
    all are zero before the launch. The order of the additions depends on timing.
    """
    row = tl.program_id(0)
    columns = tl.arange(0, BLOCK)
    mask = columns < N
    w = tl.load(w_ptr + columns, mask=mask, other=0.0).to(tl.float32)
    dw, db = row_gradient(x_ptr, w, dy_ptr, mean_ptr, rstd_ptr, dx_ptr, row, N, columns, mask)

    group = row % GROUPS
    lock = lock_ptr + group
    begun = lock_ptr + GROUPS + group
    dw_part = dw_part_ptr + group * N + columns
    db_part = db_part_ptr + group * N + columns
    while tl.atomic_cas(lock, 0, 1) == 1:
        pass
    if tl.load(begun) == 0:
        tl.atomic_xchg(begun, 1)
    else:
        dw += tl.load(dw_part, mask=mask)
        db += tl.load(db_part, mask=mask)
    tl.store(dw_part, dw, mask=mask)
    tl.store(db_part, db, mask=mask)
    # All threads have stored before one of them opens the lock.
    tl.debug_barrier()
    tl.atomic_xchg(lock, 0)


@triton.jit
def backward_lock_free(x_ptr, w_ptr, dy_ptr, mean_ptr, rstd_ptr, dx_ptr, dw_part_ptr, db_part_ptr, M, N, ROWS,
                       BLOCK: tl.constexpr, STAGES: tl.constexpr = 2):
    """ROWS neighbouring rows a program, the next one on its way while one is worked on; their sums stay in registers
    and are stored once, without a lock."""
    program = tl.program_id(0)
    columns = tl.arange(0, BLOCK)
    mask = columns < N
    w = tl.load(w_ptr + columns, mask=mask, other=0.0).to(tl.float32)
    dw = tl.zeros([BLOCK], dtype=tl.float32)
    db = tl.zeros([BLOCK], dtype=tl.float32)
    for row in tl.range(program * ROWS, min(M, (program + 1) * ROWS), num_stages=STAGES):
        dw_row, db_row = row_gradient(x_ptr, w, dy_ptr, mean_ptr, rstd_ptr, dx_ptr, row, N, columns, mask)
        dw += dw_row
        db += db_row
    at = program.to(tl.int64) * N + columns
    tl.store(dw_part_ptr + at, dw, mask=mask)
    tl.store(db_part_ptr + at, db, mask=mask)


@triton.jit
def sum_partials(dw_part_ptr, db_part_ptr, dw_ptr, db_ptr, PARTS, N, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):
    """Adds the partial sums down each column, always in the same order."""
    columns = tl.program_id(0) * BLOCK_N + tl.arange(0, BLOCK_N)
    dw = tl.zeros([BLOCK_M, BLOCK_N], dtype=tl.float32)
    db = tl.zeros([BLOCK_M, BLOCK_N], dtype=tl.float32)
    for start in range(0, PARTS, BLOCK_M):
        rows = start + tl.arange(0, BLOCK_M)
        mask = (rows[:, None] < PARTS) & (columns[None, :] < N)
        at = rows[:, None] * N + columns[None, :]
        dw += tl.load(dw_part_ptr + at, mask=mask, other=0.0)
        db += tl.load(db_part_ptr + at, mask=mask, other=0.0)
    inside = columns < N
    tl.store(dw_ptr + columns, tl.sum(dw, axis=0).to(dw_ptr.dtype.element_ty), mask=inside)
    tl.store(db_ptr + columns, tl.sum(db, axis=0).to(db_ptr.dtype.element_ty), mask=inside)
