import triton
import triton.language as tl


@triton.jit
def odd_elements(x, out, N: tl.constexpr):
    i = tl.arange(0, N)  # 0, 1, ... N - 1: its length is known when the kernel is compiled
    tl.store(out + i, tl.load(x + 2 * i + 1))


@triton.jit
def reversed_copy(x, out, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(out + i, tl.load(x + (N - 1 - i)))
