# run: ref cpu gpu
# The least inner dimension is 32 bytes: 8 numbers of f32, by tensor cores and without them.
import triton
import triton.language as tl


@triton.jit
def product(x, y, z, N: tl.constexpr, K: tl.constexpr, PRECISION: tl.constexpr):
    rows, columns, inner = tl.arange(0, N)[:, None], tl.arange(0, N)[None, :], tl.arange(0, K)
    left = tl.load(x + rows * K + inner[None, :])
    right = tl.load(y + inner[:, None] * N + columns)
    tl.store(z + rows * N + columns, tl.dot(left, right, input_precision=PRECISION))


# expect: product(x=iota(64,f32), y=iota(64,f32), N=8, K=8, PRECISION="tf32") -> z:f32 == [sum([(i // 8 * 8 + k) * (k * 8 + i % 8) for k in range(8)]) for i in range(64)]
# expect: product(x=iota(128,f32), y=iota(128,f32), N=16, K=8, PRECISION="ieee") -> z:f32 == [sum([(i // 16 * 8 + k) * (k * 16 + i % 16) for k in range(8)]) for i in range(256)]
# expect: product(x=iota(512,f32), y=iota(512,f32), N=64, K=8, PRECISION="tf32") -> z:f32 == [sum([(i // 64 * 8 + k) * (k * 64 + i % 64) for k in range(8)]) for i in range(4096)]
