"""y = W x + bias, W [N, K] with rows contiguous. Each weight is read once and used once: the time is that of reading W."""
import triton
import triton.language as tl


@triton.jit
def matvec_rows(w_ptr, x_ptr, scale_ptr, bias_ptr, y_ptr, N, K, stride_w,
                BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr, EVEN_K: tl.constexpr):
    """BLOCK_N rows a program. Products stay apart in BLOCK_K lanes, which meet once, after the loop.

    With `scale_ptr` the weights are integers, and each row's sum is scaled once.
    """
    n = tl.program_id(0) * BLOCK_N + tl.arange(0, BLOCK_N)
    k = tl.arange(0, BLOCK_K)
    # Rows past the edge wrap around: they are read in bounds without a mask, and never stored.
    w = w_ptr + (n % N).to(tl.int64)[:, None] * stride_w + k[None, :]
    acc = tl.zeros([BLOCK_N, BLOCK_K], dtype=tl.float32)
    for start in range(0, K, BLOCK_K):
        if EVEN_K:
            # Weights pass through once: they leave the cache first, and x stays.
            weights = tl.load(w + start, eviction_policy="evict_first")
            x = tl.load(x_ptr + start + k)
        else:
            weights = tl.load(w + start, mask=k[None, :] < K - start, other=0.0, eviction_policy="evict_first")
            x = tl.load(x_ptr + start + k, mask=k < K - start, other=0.0)
        acc += weights.to(tl.float32) * x.to(tl.float32)[None, :]
    y = tl.sum(acc, axis=1)
    if scale_ptr is not None:
        y *= tl.load(scale_ptr + n, mask=n < N, other=0.0)
    if bias_ptr is not None:
        y += tl.load(bias_ptr + n, mask=n < N, other=0.0).to(tl.float32)
    tl.store(y_ptr + n, y.to(y_ptr.dtype.element_ty), mask=n < N)


@triton.jit
def matvec_split_k(w_ptr, x_ptr, part_ptr, N, K, stride_w, K_PER_SPLIT,
                   BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr):
    """A slice of K a program, for matrices of too few rows to fill the machine; slices stay apart in memory."""
    n = tl.program_id(0) * BLOCK_N + tl.arange(0, BLOCK_N)
    split = tl.program_id(1)
    k = tl.arange(0, BLOCK_K)
    first = split * K_PER_SPLIT
    last = min(first + K_PER_SPLIT, K)
    w = w_ptr + (n % N).to(tl.int64)[:, None] * stride_w + k[None, :]
    acc = tl.zeros([BLOCK_N, BLOCK_K], dtype=tl.float32)
    for start in range(first, last, BLOCK_K):
        weights = tl.load(w + start, mask=k[None, :] < last - start, other=0.0, eviction_policy="evict_first")
        x = tl.load(x_ptr + start + k, mask=k < last - start, other=0.0)
        acc += weights.to(tl.float32) * x.to(tl.float32)[None, :]
    tl.store(part_ptr + split.to(tl.int64) * N + n, tl.sum(acc, axis=1), mask=n < N)


@triton.jit
def join_splits(part_ptr, scale_ptr, bias_ptr, y_ptr, N, SPLITS, BLOCK: tl.constexpr):
    """Adds the slices in order, so that the result does not depend on timing."""
    n = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    y = tl.zeros([BLOCK], dtype=tl.float32)
    for split in range(SPLITS):
        y += tl.load(part_ptr + tl.cast(split, tl.int64) * N + n, mask=n < N, other=0.0)
    if scale_ptr is not None:
        y *= tl.load(scale_ptr + n, mask=n < N, other=0.0)
    if bias_ptr is not None:
        y += tl.load(bias_ptr + n, mask=n < N, other=0.0).to(tl.float32)
    tl.store(y_ptr + n, y.to(y_ptr.dtype.element_ty), mask=n < N)
