"""Cross entropy of rows of logits with target classes: loss = lse - x[target], lse the logarithm of the sum of exp(x).

With label smoothing s the target holds 1 - s and all N classes share s: loss = lse - (1 - s) x[target] - s mean(x).
Of a row whose target is `ignore_index` nothing is read: loss, lse and gradient are 0. Any other target
outside [0, N) gives NaN and reads nothing outside the row.
"""
import triton
import triton.language as tl

LOG2E = tl.constexpr(1.4426950408889634)
LN2 = tl.constexpr(0.6931471805599453)
# The least finite f32. A running maximum starts here rather than at -inf, so that a lane that has
# seen nothing but -inf gives exp2(-inf - LOWEST) = 0 and not exp2(-inf + inf) = NaN.
LOWEST = tl.constexpr(-3.4028234663852886e38)


@triton.jit
def row_statistics(row_ptr, N, SUM: tl.constexpr, BLOCK: tl.constexpr):
    """lse and, under SUM, the sum of a row of logits, in one pass.

    Each lane keeps a maximum and a sum of its own. Of the old sum and the new element one has the
    maximum, so that a single exponential, exp2(-|x - m|), scales the other.
    """
    columns = tl.arange(0, BLOCK)
    m = tl.full([BLOCK], LOWEST, tl.float32)
    s = tl.zeros([BLOCK], tl.float32)
    total = tl.zeros([BLOCK], tl.float32)
    for start in range(0, N, BLOCK):
        mask = start + columns < N
        x = tl.load(row_ptr + start + columns, mask=mask, other=-float("inf")).to(tl.float32)
        above = (x - m) * LOG2E
        e = tl.exp2(-tl.abs(above))
        s = tl.where(above > 0, s * e + 1.0, s + e)
        m = tl.maximum(m, x)
        if SUM:
            total += tl.where(mask, x, 0.0)
    peak = tl.max(m, axis=0)
    lse = peak + tl.log2(tl.sum(s * tl.exp2((m - peak) * LOG2E), axis=0)) * LN2
    return lse, tl.sum(total, axis=0)


@triton.jit
def loss_of(row_ptr, target, lse, total, N, smoothing, SMOOTH: tl.constexpr):
    inside = (target >= 0) & (target < N)
    loss = lse - tl.load(row_ptr + target, mask=inside, other=float("nan")).to(tl.float32)
    if SMOOTH:
        # lse - (1 - s) x[target] - s mean(x), with the larger differences taken first.
        loss = (1.0 - smoothing) * loss + smoothing * (lse - total / N)
    return loss


@triton.jit
def gradient(row_ptr, out_ptr, columns, target, lse, scale, N, smoothing, SMOOTH: tl.constexpr):
    """Stores scale * (softmax - target distribution) of a block of a row."""
    mask = columns < N
    x = tl.load(row_ptr + columns, mask=mask).to(tl.float32)
    dx = tl.exp2((x - lse) * LOG2E)
    if SMOOTH:
        dx -= smoothing / N
        dx = tl.where(columns == target, dx - (1.0 - smoothing), dx)
    else:
        dx = tl.where(columns == target, dx - 1.0, dx)
    # A wild target has marked the scale with NaN.
    tl.store(out_ptr + columns, (dx * scale).to(out_ptr.dtype.element_ty), mask=mask)


@triton.jit
def guarded(scale, target, N):
    return tl.where((target >= 0) & (target < N), scale, float("nan"))


@triton.jit
def cross_entropy_forward(x_ptr, target_ptr, loss_ptr, lse_ptr, stride_x, N, ignore_index, smoothing,
                          SMOOTH: tl.constexpr, BLOCK: tl.constexpr):
    """One row a program, read once."""
    row = tl.program_id(0).to(tl.int64)
    target = tl.load(target_ptr + row)
    if target == ignore_index:
        tl.store(loss_ptr + row, 0.0)
        tl.store(lse_ptr + row, 0.0)
        return
    x_row = x_ptr + row * stride_x
    lse, total = row_statistics(x_row, N, SMOOTH, BLOCK)
    tl.store(loss_ptr + row, loss_of(x_row, target, lse, total, N, smoothing, SMOOTH))
    tl.store(lse_ptr + row, lse)


@triton.jit
def cross_entropy_backward(x_ptr, target_ptr, lse_ptr, dloss_ptr, dx_ptr, stride_x, stride_dx, N, ignore_index, smoothing,
                           SMOOTH: tl.constexpr, BLOCK: tl.constexpr):
    """One block of one row a program. dx may be x."""
    row = tl.program_id(0).to(tl.int64)
    columns = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    target = tl.load(target_ptr + row)
    dx_row = dx_ptr + row * stride_dx
    if target == ignore_index:
        tl.store(dx_row + columns, tl.zeros([BLOCK], dx_ptr.dtype.element_ty), mask=columns < N)
        return
    scale = guarded(tl.load(dloss_ptr + row), target, N)
    gradient(x_ptr + row * stride_x, dx_row, columns, target, tl.load(lse_ptr + row), scale, N, smoothing, SMOOTH)


@triton.jit
def cross_entropy_fused(x_ptr, target_ptr, loss_ptr, dx_ptr, stride_x, stride_dx, N, ignore_index, smoothing, scale, first_row,
                        SMOOTH: tl.constexpr, BLOCK: tl.constexpr):
    """Loss and gradient of one row a program: the second read of the row comes from the cache.

    `scale` is the loss's own gradient, one over the count of rows for a mean. dx may be x: each
    block is read before it is written. Targets and losses are those from `first_row` on.
    """
    row = tl.program_id(0).to(tl.int64)
    target = tl.load(target_ptr + first_row + row)
    x_row = x_ptr + row * stride_x
    dx_row = dx_ptr + row * stride_dx
    columns = tl.arange(0, BLOCK)
    if target == ignore_index:
        tl.store(loss_ptr + first_row + row, 0.0)
        for start in range(0, N, BLOCK):
            tl.store(dx_row + start + columns, tl.zeros([BLOCK], dx_ptr.dtype.element_ty), mask=start + columns < N)
        return
    lse, total = row_statistics(x_row, N, SMOOTH, BLOCK)
    tl.store(loss_ptr + first_row + row, loss_of(x_row, target, lse, total, N, smoothing, SMOOTH))
    scale = guarded(scale, target, N)
    # dx may be x: no warp writes to the row before all have read the target's logit.
    tl.debug_barrier()
    for start in range(0, N, BLOCK):
        gradient(x_row, dx_row, start + columns, target, lse, scale, N, smoothing, SMOOTH)
