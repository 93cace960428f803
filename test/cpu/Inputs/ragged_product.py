import triton
import triton.language as tl


@triton.jit
def product(a_ptr, b_ptr, c_ptr, M, N, K, SEEN: tl.constexpr, OTHER: tl.constexpr):
    m = tl.arange(0, 64)[:, None]
    n = tl.arange(0, 64)[None, :]
    k = tl.arange(0, 64)
    a = tl.load(a_ptr + m * 64 + k[None, :], mask=k[None, :] < K, other=0.0)
    b = tl.load(b_ptr + k[:, None] * 64 + n, mask=k[:, None] < K, other=OTHER)
    c = tl.dot(a, b) * 2.0
    if SEEN:
        tl.store(c_ptr + 4096 + m * 64 + n, c)
    tl.store(c_ptr + m * 64 + n, c, mask=(m < M) & (n < N))
