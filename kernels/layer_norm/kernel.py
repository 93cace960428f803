import triton
import triton.language as tl


@triton.jit
def centre(x, mask, N, epsilon):
    """A row held at once: the variance is taken about the mean, not from the sum of squares."""
    mean = tl.sum(x, axis=0) / N
    centred = tl.where(mask, x - mean, 0.0)
    return centred, mean, 1.0 / tl.sqrt(tl.sum(centred * centred, axis=0) / N + epsilon)


@triton.jit
def layer_norm_row(x_ptr, w_ptr, b_ptr, y_ptr, mean_ptr, rstd_ptr, x_stride, y_stride, N, epsilon, BLOCK: tl.constexpr):
    """One row a program."""
    row = tl.program_id(0).to(tl.int64)
    columns = tl.arange(0, BLOCK)
    mask = columns < N
    x = tl.load(x_ptr + row * x_stride + columns, mask=mask, other=0.0).to(tl.float32)
    centred, mean, rstd = centre(x, mask, N, epsilon)
    w = tl.load(w_ptr + columns, mask=mask).to(tl.float32)
    b = tl.load(b_ptr + columns, mask=mask).to(tl.float32)
    y = centred * rstd * w + b
    tl.store(y_ptr + row * y_stride + columns, y.to(y_ptr.dtype.element_ty), mask=mask)
    tl.store(mean_ptr + row, mean)
    tl.store(rstd_ptr + row, rstd)


@triton.jit
def layer_norm_rows(x_ptr, w_ptr, b_ptr, y_ptr, mean_ptr, rstd_ptr, x_stride, y_stride, M, N, epsilon,
                    BLOCK: tl.constexpr, STAGES: tl.constexpr):
    """As many programs as the machine runs at once: weights are read once, and rows come while the ones before are worked on."""
    columns = tl.arange(0, BLOCK)
    mask = columns < N
    w = tl.load(w_ptr + columns, mask=mask)
    b = tl.load(b_ptr + columns, mask=mask)
    for row in tl.range(tl.program_id(0), M, tl.num_programs(0), num_stages=STAGES):
        at = tl.cast(row, tl.int64)
        x = tl.load(x_ptr + at * x_stride + columns, mask=mask, other=0.0).to(tl.float32)
        centred, mean, rstd = centre(x, mask, N, epsilon)
        y = centred * rstd * w.to(tl.float32) + b.to(tl.float32)
        tl.store(y_ptr + at * y_stride + columns, y.to(y_ptr.dtype.element_ty), mask=mask)
        tl.store(mean_ptr + row, mean)
        tl.store(rstd_ptr + row, rstd)


@triton.jit
def join_moments(mean_a, m2_a, count_a, mean_b, m2_b, count_b):
    """Moments of two sets together: m2 is the sum of squared distances from the mean."""
    count = count_a + count_b
    share = count_b / tl.maximum(count, 1.0)
    delta = mean_b - mean_a
    return mean_a + delta * share, m2_a + m2_b + delta * delta * count_a * share, count


@triton.jit
def layer_norm_welford(x_ptr, w_ptr, b_ptr, y_ptr, mean_ptr, rstd_ptr, x_stride, y_stride, N, epsilon, BLOCK: tl.constexpr):
    """Rows of any length in two passes: each lane keeps moments of its own, which are joined once at the end."""
    row = tl.program_id(0).to(tl.int64)
    x_row = x_ptr + row * x_stride
    y_row = y_ptr + row * y_stride
    columns = tl.arange(0, BLOCK)

    means = tl.zeros([BLOCK], dtype=tl.float32)
    m2s = tl.zeros([BLOCK], dtype=tl.float32)
    counts = tl.zeros([BLOCK], dtype=tl.float32)
    for start in range(0, N, BLOCK):
        mask = start + columns < N
        x = tl.load(x_row + start + columns, mask=mask, other=0.0).to(tl.float32)
        delta = x - means
        counts += mask.to(tl.float32)
        means += tl.where(mask, delta / tl.maximum(counts, 1.0), 0.0)
        m2s += tl.where(mask, delta * (x - means), 0.0)

    mean, m2, count = tl.reduce((means, m2s, counts), 0, join_moments)
    rstd = 1.0 / tl.sqrt(m2 / count + epsilon)
    tl.store(mean_ptr + row, mean)
    tl.store(rstd_ptr + row, rstd)
    for start in range(0, N, BLOCK):
        mask = start + columns < N
        x = tl.load(x_row + start + columns, mask=mask).to(tl.float32)
        w = tl.load(w_ptr + start + columns, mask=mask).to(tl.float32)
        b = tl.load(b_ptr + start + columns, mask=mask).to(tl.float32)
        y = (x - mean) * rstd * w + b
        tl.store(y_row + start + columns, y.to(y_ptr.dtype.element_ty), mask=mask)
