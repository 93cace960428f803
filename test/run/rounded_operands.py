# run: ref cpu gpu
# Left operands of products that are made of what waits in shared memory: rounded to halves, scaled by a row's numbers and rounded again, and turned over.
import triton
import triton.language as tl


@triton.jit
def rounded(a, b, scales, out, depth, TURNED: tl.constexpr, SCALED: tl.constexpr):
    i, j, k = tl.arange(0, 64), tl.arange(0, 16), tl.arange(0, 32)
    acc = tl.zeros([64, 16], tl.float32)
    for start in range(0, depth, 32):
        if TURNED:
            left = tl.trans(tl.load(a + (start + k)[:, None] * 64 + i[None, :]))
        else:
            left = tl.load(a + i[:, None] * depth + start + k[None, :])
        if SCALED:
            left = left * tl.load(scales + start + k)[None, :]
        right = tl.load(b + (start + k)[:, None] * 16 + j[None, :])
        acc = tl.dot(left.to(tl.float16), right.to(tl.float16), acc)
    tl.store(out + i[:, None] * 16 + j[None, :], acc)


@triton.jit
def scaled(a, b, scales, out, depth):
    i, j, k = tl.arange(0, 64), tl.arange(0, 16), tl.arange(0, 32)
    acc = tl.zeros([64, 16], tl.float32)
    for start in range(0, depth, 32):
        left = tl.load(a + i[:, None] * depth + start + k[None, :]) * tl.load(scales + start + k)[None, :]
        acc = tl.dot(left, tl.load(b + (start + k)[:, None] * 16 + j[None, :]), acc)
    tl.store(out + i[:, None] * 16 + j[None, :], acc)


# expect: rounded(a=[(5 * n) % 17 for n in range(6144)]:f32, b=[(3 * n) % 7 for n in range(1536)]:f32, scales=iota(96), depth=96, TURNED=False, SCALED=False)
#     -> out:f32 == [sum(5 * (i * 96 + k) % 17 * (3 * (k * 16 + j) % 7) for k in range(96)) for i in range(64) for j in range(16)]
# expect: rounded(a=[(5 * n) % 17 for n in range(6144)]:f32, b=[(3 * n) % 7 for n in range(1536)]:f32, scales=iota(96), depth=96, TURNED=True, SCALED=False)
#     -> out:f32 == [sum(5 * (k * 64 + i) % 17 * (3 * (k * 16 + j) % 7) for k in range(96)) for i in range(64) for j in range(16)]
# expect: rounded(a=[(5 * n) % 17 for n in range(6144)]:f32, b=[(3 * n) % 7 for n in range(1536)]:f32, scales=iota(96), depth=96, TURNED=False, SCALED=True)
#     -> out:f32 == [sum(k * (5 * (i * 96 + k) % 17) * (3 * (k * 16 + j) % 7) for k in range(96)) for i in range(64) for j in range(16)]
# expect: scaled(a=[(5 * n) % 17 for n in range(6144)]:f16, b=[(3 * n) % 7 for n in range(1536)]:f16, scales=iota(96, f16), depth=96)
#     -> out:f32 == [sum(k * (5 * (i * 96 + k) % 17) * (3 * (k * 16 + j) % 7) for k in range(96)) for i in range(64) for j in range(16)]
