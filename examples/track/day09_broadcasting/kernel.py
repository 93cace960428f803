import triton
import triton.language as tl


@triton.jit
def outer(x, y, out, M: tl.constexpr, N: tl.constexpr):
    i = tl.arange(0, M)
    j = tl.arange(0, N)
    a = tl.load(x + i)[:, None]  # M x 1
    b = tl.load(y + j)[None, :]  # 1 x N
    tl.store(out + i[:, None] * N + j[None, :], a * b)


@triton.jit
def distances(x, y, out, M: tl.constexpr, N: tl.constexpr):
    i = tl.arange(0, M)
    j = tl.arange(0, N)
    d = tl.abs(tl.load(x + i)[:, None] - tl.load(y + j)[None, :])
    tl.store(out + i[:, None] * N + j[None, :], d)
