# run: ref cpu gpu
import triton
import triton.language as tl


@triton.jit
def product(x, y, z, N: tl.constexpr):
    i = tl.arange(0, N)[:, None] * N + tl.arange(0, N)[None, :]
    tl.store(z + i, tl.dot(tl.load(x + i), tl.load(y + i)))


# expect: product(x=iota(64,f64), y=iota(64,f64), N=8) -> z:f64 == [1792 * (i // 8) + 64 * (i // 8) * (i % 8) + 1120 + 28 * (i % 8) for i in range(64)]
