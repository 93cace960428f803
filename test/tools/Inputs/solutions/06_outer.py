import triton
import triton.language as tl


@triton.jit
def outer(a, b, out, M: tl.constexpr, N: tl.constexpr):
    i = tl.arange(0, M)
    j = tl.arange(0, N)
    table = tl.load(a + i)[:, None] + tl.load(b + j)[None, :]
    tl.store(out + i[:, None] * N + j[None, :], table)
