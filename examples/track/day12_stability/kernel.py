import triton
import triton.language as tl


@triton.jit
def naive(x, out, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    e = tl.exp(tl.load(x + i, mask=i < n, other=-float("inf")))
    tl.store(out + i, e / tl.sum(e, axis=0), mask=i < n)


@triton.jit
def safe(x, out, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    v = tl.load(x + i, mask=i < n, other=-float("inf"))
    e = tl.exp(v - tl.max(v, axis=0))
    tl.store(out + i, e / tl.sum(e, axis=0), mask=i < n)
