# run: ref cpu gpu
# Products of pairs of 4-bit floats, with one scale of 8 bits for each group of elements along K: powers of two for 32 (OCP MX),
# numbers for 16 (nvfp4), or the other way round. Every term and every sum is exact.
import triton
import triton.language as tl


@triton.jit
def product(a, b, a_scale, b_scale, c, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr, GROUP: tl.constexpr):
    rows, columns, pairs, groups = tl.arange(0, M)[:, None], tl.arange(0, N), tl.arange(0, K // 2), tl.arange(0, K // GROUP)[None, :]
    left = tl.load(a + rows * (K // 2) + pairs[None, :])
    right = tl.load(b + pairs[:, None] * N + columns[None, :])
    left_scale = tl.load(a_scale + rows * (K // GROUP) + groups)
    right_scale = tl.load(b_scale + columns[:, None] * (K // GROUP) + groups)
    tl.store(c + rows * N + columns[None, :], tl.dot_scaled(left, left_scale, "e2m1", right, right_scale, "e2m1"))


@triton.jit
def weights(x, w, scale, c, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    """Activations of 16 bits without scales beside weights that are packed along N."""
    rows, columns, inner = tl.arange(0, M)[:, None], tl.arange(0, N), tl.arange(0, K)
    left = tl.load(x + rows * K + inner[None, :])
    right = tl.load(w + inner[:, None] * (N // 2) + tl.arange(0, N // 2)[None, :])
    right_scale = tl.load(scale + columns[:, None] * (K // 16) + tl.arange(0, K // 16)[None, :])
    tl.store(c + rows * N + columns[None, :], tl.dot_scaled(left, None, "bf16", right, right_scale, "e2m1", rhs_k_pack=False))


# expect: product(a=values([(i * 7 + 3) % 256 for i in range(512)], u8), b=values([(i * 11 + 5) % 256 for i in range(512)], u8), a_scale=values([125 + i % 5 for i in range(32)], u8), b_scale=values([126 + i % 3 for i in range(32)], u8), M=16, N=16, K=64, GROUP=32) -> c:f32 == [sum([[0, 0.5, 1, 1.5, 2, 3, 4, 6, 0, -0.5, -1, -1.5, -2, -3, -4, -6][((i // 16 * 32 + k // 2) * 7 + 3) % 256 // 16 ** (k % 2) % 16] * 2.0 ** ((i // 16 * 2 + k // 32) % 5 - 2) * [0, 0.5, 1, 1.5, 2, 3, 4, 6, 0, -0.5, -1, -1.5, -2, -3, -4, -6][((k // 2 * 16 + i % 16) * 11 + 5) % 256 // 16 ** (k % 2) % 16] * 2.0 ** ((i % 16 * 2 + k // 32) % 3 - 1) for k in range(64)]) for i in range(256)]
# expect: product(a=values([(i * 7 + 3) % 256 for i in range(512)], u8), b=values([(i * 11 + 5) % 256 for i in range(512)], u8), a_scale=values([[0.25, 0.5, 1, 1.5, 2, 3.5][i % 6] for i in range(64)], f8e4nv), b_scale=values([[0.25, 0.5, 1, 1.5, 2, 3.5][i * 5 % 6] for i in range(64)], f8e4nv), M=16, N=16, K=64, GROUP=16) -> c:f32 == [sum([[0, 0.5, 1, 1.5, 2, 3, 4, 6, 0, -0.5, -1, -1.5, -2, -3, -4, -6][((i // 16 * 32 + k // 2) * 7 + 3) % 256 // 16 ** (k % 2) % 16] * [0.25, 0.5, 1, 1.5, 2, 3.5][(i // 16 * 4 + k // 16) % 6] * [0, 0.5, 1, 1.5, 2, 3, 4, 6, 0, -0.5, -1, -1.5, -2, -3, -4, -6][((k // 2 * 16 + i % 16) * 11 + 5) % 256 // 16 ** (k % 2) % 16] * [0.25, 0.5, 1, 1.5, 2, 3.5][(i % 16 * 4 + k // 16) * 5 % 6] for k in range(64)]) for i in range(256)]
# expect: product(a=values([(i * 7 + 3) % 256 for i in range(512)], u8), b=values([(i * 11 + 5) % 256 for i in range(512)], u8), a_scale=values([[0.25, 0.5, 1, 1.5, 2, 3.5][i % 6] for i in range(32)], f8e4nv), b_scale=values([[0.25, 0.5, 1, 1.5, 2, 3.5][i * 5 % 6] for i in range(32)], f8e4nv), M=16, N=16, K=64, GROUP=32) -> c:f32 == [sum([[0, 0.5, 1, 1.5, 2, 3, 4, 6, 0, -0.5, -1, -1.5, -2, -3, -4, -6][((i // 16 * 32 + k // 2) * 7 + 3) % 256 // 16 ** (k % 2) % 16] * [0.25, 0.5, 1, 1.5, 2, 3.5][(i // 16 * 2 + k // 32) % 6] * [0, 0.5, 1, 1.5, 2, 3, 4, 6, 0, -0.5, -1, -1.5, -2, -3, -4, -6][((k // 2 * 16 + i % 16) * 11 + 5) % 256 // 16 ** (k % 2) % 16] * [0.25, 0.5, 1, 1.5, 2, 3.5][(i % 16 * 2 + k // 32) * 5 % 6] for k in range(64)]) for i in range(256)]
# expect: product(a=values([(i * 7 + 3) % 256 for i in range(512)], u8), b=values([(i * 11 + 5) % 256 for i in range(512)], u8), a_scale=values([125 + i % 5 for i in range(64)], u8), b_scale=values([126 + i % 3 for i in range(64)], u8), M=16, N=16, K=64, GROUP=16) -> c:f32 == [sum([[0, 0.5, 1, 1.5, 2, 3, 4, 6, 0, -0.5, -1, -1.5, -2, -3, -4, -6][((i // 16 * 32 + k // 2) * 7 + 3) % 256 // 16 ** (k % 2) % 16] * 2.0 ** ((i // 16 * 4 + k // 16) % 5 - 2) * [0, 0.5, 1, 1.5, 2, 3, 4, 6, 0, -0.5, -1, -1.5, -2, -3, -4, -6][((k // 2 * 16 + i % 16) * 11 + 5) % 256 // 16 ** (k % 2) % 16] * 2.0 ** ((i % 16 * 4 + k // 16) % 3 - 1) for k in range(64)]) for i in range(256)]
# expect: weights(x=values([i % 9 - 4 for i in range(1024)], bf16), w=values([(i * 11 + 5) % 256 for i in range(512)], u8), scale=values([[0.25, 0.5, 1, 1.5, 2, 3.5][i * 5 % 6] for i in range(64)], f8e4nv), M=16, N=16, K=64) -> c:f32 == [sum([((i // 16 * 64 + k) % 9 - 4) * [0, 0.5, 1, 1.5, 2, 3, 4, 6, 0, -0.5, -1, -1.5, -2, -3, -4, -6][((k * 8 + i % 16 // 2) * 11 + 5) % 256 // 16 ** (i % 2) % 16] * [0.25, 0.5, 1, 1.5, 2, 3.5][(i % 16 * 4 + k // 16) * 5 % 6] for k in range(64)]) for i in range(256)]
