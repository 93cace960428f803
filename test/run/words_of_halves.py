# run: ref cpu gpu
# Products of words that are computed of halves, both of which lie along the sum's rows and columns.
import triton
import triton.language as tl


@triton.autotune(configs=[triton.Config({}, num_warps=2)], key=[])
@triton.jit
def scaled(q, k, g, out, T):
    i, d = tl.arange(0, 32), tl.arange(0, 64)
    total = tl.zeros([64, 64], dtype=tl.float32)
    for t in range(0, T, 32):
        at = (t + i)[:, None] * 64 + d[None, :]
        left = tl.load(q + at).to(tl.float32) * tl.load(g + t + i)[:, None]
        total += tl.dot(tl.trans(left), tl.load(k + at).to(tl.float32), input_precision="tf32")
    tl.store(out + d[:, None] * 64 + d[None, :], total)


# expect: scaled(q=[(i * 7 // 3) % 5 for i in range(4096)]:f16, k=[(i * 5 // 7) % 3 for i in range(4096)]:f16, g=iota(64,f32), T=64) -> out:f32 ==
#     [sum([t * ((t * 64 + i // 64) * 7 // 3 % 5) * ((t * 64 + i % 64) * 5 // 7 % 3) for t in range(64)]) for i in range(4096)]
