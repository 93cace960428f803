import triton
import triton.language as tl


@triton.jit
def product(a_ptr, b_ptr, c_ptr, gate_ptr, a_at, b_at, c_at, gate_at, M, N, K, stride_am, stride_ak, stride_bk, stride_bn, rate,
            RELU: tl.constexpr, UPDATE: tl.constexpr, BLOCK: tl.constexpr, BLOCK_K: tl.constexpr):
    """A product of two matrices that begin at element `.._at` of their tensors, and what follows it in a layer.

    With a gate: 0 where the gate is not positive (the slope of relu). RELU: cut at 0. UPDATE: c - rate * product.
    """
    m = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    n = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    acc = tl.zeros([BLOCK, BLOCK], tl.float32)
    for start in range(0, K, BLOCK_K):
        k = start + tl.arange(0, BLOCK_K)
        a = tl.load(a_ptr + a_at + m[:, None] * stride_am + k[None, :] * stride_ak, mask=(m[:, None] < M) & (k[None, :] < K), other=0.0)
        b = tl.load(b_ptr + b_at + k[:, None] * stride_bk + n[None, :] * stride_bn, mask=(k[:, None] < K) & (n[None, :] < N), other=0.0)
        acc = tl.dot(a, b, acc, input_precision="ieee")
    at = m[:, None] * N + n[None, :]
    inside = (m[:, None] < M) & (n[None, :] < N)
    if gate_ptr is not None:
        acc = tl.where(tl.load(gate_ptr + gate_at + at, mask=inside, other=0.0) > 0, acc, 0.0)
    if RELU:
        acc = tl.maximum(acc, 0.0)
    if UPDATE:
        acc = tl.load(c_ptr + c_at + at, mask=inside, other=0.0) - rate * acc
    tl.store(c_ptr + c_at + at, acc, mask=inside)


@triton.jit
def copy(x_ptr, y_ptr, y_at, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + y_at + i, tl.load(x_ptr + i, mask=i < n), mask=i < n)


@triton.jit
def loss_gradient(out_ptr, out_at, target_ptr, gradient_ptr, gradient_at, n, scale, BLOCK: tl.constexpr):
    """Of scale / 2 * sum((out - target)^2)."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    difference = tl.load(out_ptr + out_at + i, mask=i < n) - tl.load(target_ptr + i, mask=i < n)
    tl.store(gradient_ptr + gradient_at + i, scale * difference, mask=i < n)
