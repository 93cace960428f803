# run: ref cpu gpu
import triton
import triton.language as tl


@triton.jit
def product(x, y, z, N: tl.constexpr):
    i = tl.arange(0, N)[:, None] * N + tl.arange(0, N)[None, :]
    tl.store(z + i, tl.dot(tl.load(x + i), tl.load(y + i)))


# expect: product(x=iota(64,f64), y=iota(64,f64), N=8) -> z:f64 == [1792 * (i // 8) + 64 * (i // 8) * (i % 8) + 1120 + 28 * (i % 8) for i in range(64)]
# expect: product(x=iota(16,f64), y=iota(16,f64), N=4) -> z:f64 == [56, 62, 68, 74, 152, 174, 196, 218, 248, 286, 324, 362, 344, 398, 452, 506]
