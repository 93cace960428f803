# run: ref cpu gpu
# Chains of 16 x 16 products of words by one warp and by four, and products in branches that no step changes.
import triton
import triton.language as tl


@triton.jit
def products(out):
    i, j = tl.arange(0, 16)[:, None], tl.arange(0, 16)[None, :]
    a = ((5 * i + 3 * j) % 7).to(tl.float32)
    b = (i * j % 5).to(tl.float32)
    c = tl.dot(a, b, input_precision="tf32")
    tl.store(out + i * 16 + j, tl.dot(c, b, tl.dot(b, c, input_precision="tf32"), input_precision="tf32"))


@triton.autotune(configs=[triton.Config({}, num_warps=1)], key=[])
@triton.jit
def by_one_warp(out):
    products(out)


@triton.jit
def by_four_warps(out):
    products(out)


# expect: by_one_warp() -> out:f32 == [sum([sum([(5 * (i // 16) + 3 * j) % 7 * (j * k % 5) for j in range(16)]) * (k * (i % 16) % 5)
#     + i // 16 * k % 5 * sum([(5 * k + 3 * j) % 7 * (j * (i % 16) % 5) for j in range(16)]) for k in range(16)]) for i in range(256)]
# expect: by_four_warps() -> out:f32 == [sum([sum([(5 * (i // 16) + 3 * j) % 7 * (j * k % 5) for j in range(16)]) * (k * (i % 16) % 5)
#     + i // 16 * k % 5 * sum([(5 * k + 3 * j) % 7 * (j * (i % 16) % 5) for j in range(16)]) for k in range(16)]) for i in range(256)]


@triton.autotune(configs=[triton.Config({}, num_warps=1)], key=[])
@triton.jit
def branches(x, out, n, m):
    i = tl.arange(0, 16)
    first = tl.zeros([16, 16], dtype=tl.float32)
    second = tl.zeros([16, 16], dtype=tl.float32)
    for k in range(0, n, 16):
        a = tl.load(x + i[:, None] * n + k + i[None, :])
        first += tl.dot(a, tl.trans(a))
        if m > 16:
            b = tl.load(x + (16 + i)[:, None] * n + k + i[None, :], mask=(16 + i)[:, None] < m, other=0.0)
            second += tl.dot(b, tl.trans(a))
    tl.store(out + i[:, None] * 16 + i[None, :], first + second)


# expect: branches(x=iota(1024,f16), n=32, m=16) -> out:f32 == [sum([(i // 16 * 32 + k) * (i % 16 * 32 + k) for k in range(32)]) for i in range(256)]
# expect: branches(x=ones(1024,f16), n=32, m=20) -> out:f32 == [64 if i < 64 else 32 for i in range(256)]
