import triton
import triton.language as tl


@triton.jit
def cube(x, y, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    a = tl.load(x + i, mask=i < n)
    tl.store(y + i, a * a * a, mask=i < n)


@triton.jit
def slope(x, dy, dx, n, FACTOR: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    a = tl.load(x + i, mask=i < n)
    tl.store(dx + i, FACTOR * a * a * tl.load(dy + i, mask=i < n), mask=i < n)
