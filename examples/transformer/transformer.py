"""What a decoder needs beside the kernel folders: embedding, rotary positions, paged append, SwiGLU, products with few rows, sampling."""
import triton
import triton.language as tl


@triton.jit
def embed(token_ptr, table_ptr, x_ptr, N, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    columns = tl.arange(0, BLOCK)
    token = tl.load(token_ptr + row).to(tl.int64)
    tl.store(x_ptr + row * N + columns, tl.load(table_ptr + token * N + columns, mask=columns < N), mask=columns < N)


@triton.jit
def split_rotate(qkv_ptr, position_ptr, q_ptr, k_ptr, v_ptr, H: tl.constexpr, KV: tl.constexpr, D: tl.constexpr,
                 LOG2_BASE: tl.constexpr):
    """One head of one row a program: queries and keys are turned by their position, values are copied.

    Pair i of a head is (i, i + D/2); it turns by position * base ** (-2i / D).
    """
    row = tl.program_id(0).to(tl.int64)
    head = tl.program_id(1)
    i = tl.arange(0, D // 2)
    source = qkv_ptr + (row * (H + 2 * KV) + head) * D + i
    low = tl.load(source).to(tl.float32)
    high = tl.load(source + D // 2).to(tl.float32)
    if head < H:
        target = q_ptr + (row * H + head) * D
    elif head < H + KV:
        target = k_ptr + (row * KV + head - H) * D
    else:
        target = v_ptr + (row * KV + head - H - KV) * D
    angle = tl.load(position_ptr + row).to(tl.float32) * tl.exp2(i.to(tl.float32) * (-2.0 * LOG2_BASE / D))
    turns = head < H + KV
    cosine = tl.where(turns, tl.cos(angle), 1.0)
    sine = tl.where(turns, tl.sin(angle), 0.0)
    tl.store(target + i, (low * cosine - high * sine).to(q_ptr.dtype.element_ty))
    tl.store(target + D // 2 + i, (high * cosine + low * sine).to(q_ptr.dtype.element_ty))


@triton.jit
def append(k_ptr, v_ptr, k_cache_ptr, v_cache_ptr, table_ptr, sequence_ptr, position_ptr, stride_table,
           ROW: tl.constexpr, PAGE: tl.constexpr, BLOCK: tl.constexpr):
    """Writes ROW = key heads * D keys and values of one token to its place: PAGE tokens a page, pages named by `table`."""
    row = tl.program_id(0).to(tl.int64)
    position = tl.load(position_ptr + row)
    page = tl.load(table_ptr + tl.load(sequence_ptr + row) * stride_table + position // PAGE).to(tl.int64)
    columns = tl.arange(0, BLOCK)
    inside = columns < ROW
    target = (page * PAGE + position % PAGE) * ROW + columns
    tl.store(k_cache_ptr + target, tl.load(k_ptr + row * ROW + columns, mask=inside), mask=inside)
    tl.store(v_cache_ptr + target, tl.load(v_ptr + row * ROW + columns, mask=inside), mask=inside)


@triton.jit
def few_rows(x_ptr, w_ptr, y_ptr, N, K, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr):
    """Y = X @ W for a few rows, where reading W is the work: BLOCK_N columns of one row a program."""
    row = tl.program_id(1).to(tl.int64)
    n = tl.program_id(0) * BLOCK_N + tl.arange(0, BLOCK_N)
    sums = tl.zeros([BLOCK_K, BLOCK_N], dtype=tl.float32)
    for start in range(0, K, BLOCK_K):
        k = start + tl.arange(0, BLOCK_K)
        x = tl.load(x_ptr + row * K + k, mask=k < K, other=0.0).to(tl.float32)
        w = tl.load(w_ptr + k.to(tl.int64)[:, None] * N + n[None, :], mask=(k[:, None] < K) & (n[None, :] < N), other=0.0)
        sums += x[:, None] * w.to(tl.float32)
    tl.store(y_ptr + row * N + n, tl.sum(sums, axis=0).to(y_ptr.dtype.element_ty), mask=n < N)


@triton.jit
def swiglu(gate_up_ptr, y_ptr, N, BLOCK: tl.constexpr):
    """silu(gate) * up, where a row is its N gates and then its N ups."""
    row = tl.program_id(0).to(tl.int64)
    columns = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    inside = columns < N
    gate = tl.load(gate_up_ptr + row * 2 * N + columns, mask=inside, other=0.0).to(tl.float32)
    up = tl.load(gate_up_ptr + (row * 2 + 1) * N + columns, mask=inside, other=0.0).to(tl.float32)
    tl.store(y_ptr + row * N + columns, (gate * tl.sigmoid(gate) * up).to(y_ptr.dtype.element_ty), mask=inside)


@triton.jit(do_not_specialize=["seed"])
def sample(logits_ptr, token_ptr, N, inverse_temperature, seed, BLOCK: tl.constexpr, GREEDY: tl.constexpr):
    """A token a row, drawn by its softmax probability: the maximum of logits with Gumbel noise."""
    row = tl.program_id(0).to(tl.int64)
    columns = tl.arange(0, BLOCK)
    scores = tl.load(logits_ptr + row * N + columns, mask=columns < N, other=-float("inf")).to(tl.float32)
    if not GREEDY:
        uniform = tl.maximum(tl.rand(seed, row * BLOCK + columns), 1e-20)
        scores = scores * inverse_temperature - tl.log(-tl.log(uniform))
        scores = tl.where(columns < N, scores, -float("inf"))
    tl.store(token_ptr + row, tl.argmax(scores, axis=0).to(tl.int32))
