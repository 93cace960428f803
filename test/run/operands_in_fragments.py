# run: ref cpu gpu
# Products of words whose operands are computed in loops, of words and of halves, one operand of two products, by one warp and by four.
import triton
import triton.language as tl


@triton.jit
def gated(q_ptr, g_ptr, b_ptr, row_ptr, out_ptr, T, K: tl.constexpr):
    i, j = tl.arange(0, 16), tl.arange(0, K)
    first, second = tl.zeros([16, 16], dtype=tl.float32), tl.zeros([16, 16], dtype=tl.float32)
    for t in range(0, T, K):
        q = tl.load(q_ptr + i[:, None] * T + t + j[None, :]).to(tl.float32)
        g = tl.load(g_ptr + i[:, None] * T + t + j[None, :])
        b = tl.load(b_ptr + i[:, None] * T + t + j[None, :])
        row = tl.load(row_ptr + t + j)
        left = q * (g - row[None, :])
        first += tl.dot(left, tl.trans(b * 2.0), input_precision="tf32")
        second += tl.dot(left, tl.trans(b + row[None, :]), input_precision="tf32")
    at = i[:, None] * 16 + i[None, :]
    tl.store(out_ptr + at, first)
    tl.store(out_ptr + 256 + at, second)


@triton.autotune(configs=[triton.Config({"K": 32}, num_warps=1)], key=[])
@triton.jit
def by_one_warp(q_ptr, g_ptr, b_ptr, row_ptr, out_ptr, T, K: tl.constexpr):
    gated(q_ptr, g_ptr, b_ptr, row_ptr, out_ptr, T, K)


@triton.autotune(configs=[triton.Config({"K": 64}, num_warps=4)], key=[])
@triton.jit
def by_four_warps(q_ptr, g_ptr, b_ptr, row_ptr, out_ptr, T, K: tl.constexpr):
    gated(q_ptr, g_ptr, b_ptr, row_ptr, out_ptr, T, K)


# Neither operand lies along K.
@triton.jit
def turned(q_ptr, b_ptr, row_ptr, out_ptr, T):
    i, j, k = tl.arange(0, 64), tl.arange(0, 32), tl.arange(0, 64)
    total = tl.zeros([64, 32], dtype=tl.float32)
    for t in range(0, T, 64):
        q = tl.load(q_ptr + i[:, None] + (t + k)[None, :] * 64).to(tl.float32)
        b = tl.load(b_ptr + (t + k)[:, None] * 32 + j[None, :]).to(tl.float32)
        row = tl.load(row_ptr + t + k)
        total += tl.dot(q * row[None, :], b, input_precision="tf32")
    tl.store(out_ptr + i[:, None] * 32 + j[None, :], total)


# A product of a product's sum: what a lane has of the sum is what its fragments want but for their order along K. The state's left operand has the same right one.
@triton.jit
def chained(q_ptr, k_ptr, v_ptr, out_ptr, state_ptr, T):
    i, j = tl.arange(0, 64), tl.arange(0, 32)
    state = tl.zeros([64, 32], dtype=tl.float32)
    for t in range(0, T, 64):
        q = tl.load(q_ptr + (t + i)[:, None] * 64 + i[None, :]).to(tl.float32)
        k = tl.load(k_ptr + i[:, None] + (t + i)[None, :] * 64).to(tl.float32)
        v = tl.load(v_ptr + (t + i)[:, None] * 32 + j[None, :]).to(tl.float32)
        scores = tl.where(i[:, None] >= i[None, :], tl.dot(q, k, input_precision="tf32"), 0)
        out = tl.dot(scores, v, input_precision="tf32") + tl.dot(q, state, input_precision="tf32")
        tl.store(out_ptr + (t + i)[:, None] * 32 + j[None, :], out)
        state += tl.dot(k, v, input_precision="tf32")
    tl.store(state_ptr + i[:, None] * 32 + j[None, :], state)


# A sum of which each warp has columns that others want: values come as they lie, and the sum in their order.
@triton.jit
def diagonal(q_ptr, k_ptr, v_ptr, out_ptr, T):
    i, j = tl.arange(0, 32), tl.arange(0, 128)
    q = tl.load(q_ptr + i[:, None] * 128 + j[None, :]).to(tl.float32)
    total = tl.zeros([32, 128], dtype=tl.float32)
    for t in range(0, T, 32):
        k = tl.load(k_ptr + (t + i)[None, :] * 128 + j[:, None]).to(tl.float32)
        v = tl.load(v_ptr + (t + i)[:, None] * 128 + j[None, :]).to(tl.float32)
        scores = tl.dot(q, k, input_precision="tf32") * ((i[:, None] + t + i[None, :]) % 3)
        total += tl.dot(scores, v, input_precision="tf32")
    tl.store(out_ptr + i[:, None] * 128 + j[None, :], total)


# expect: diagonal(q_ptr=values([n % 3 // 2 for n in range(4096)], f16), k_ptr=values([n % 5 // 4 for n in range(8192)], f16), v_ptr=values([n % 7 for n in range(8192)], f16), out_ptr=zeros(4096,f32), T=64)
#     -> out_ptr == [sum([scores[t] * ((t * 128 + j) % 7) for t in range(64)]) for i in range(32)
#         for scores in [[sum([(i * 128 + d) % 3 // 2 * ((t * 128 + d) % 5 // 4) for d in range(128)]) * ((i + t) % 3) for t in range(64)]] for j in range(128)]
# expect: chained(q_ptr=values([n % 3 for n in range(8192)], f16), k_ptr=values([n % 5 // 4 for n in range(8192)], f16), v_ptr=values([n % 7 // 5 for n in range(4096)], f16), out_ptr=zeros(4096,f32), state_ptr=zeros(2048,f32), T=128)
#     -> state_ptr == [sum([(n // 32 + t * 64) % 5 // 4 * ((t * 32 + n % 32) % 7 // 5) for t in range(128)]) for n in range(2048)]
#     and out_ptr == [sum([scores[t] * ((t * 32 + j) % 7 // 5) for t in range(i + 1)]) for i in range(128)
#         for scores in [[sum([(i * 64 + d) % 3 * ((t * 64 + d) % 5 // 4) for d in range(64)]) for t in range(i + 1)]] for j in range(32)]
# expect: by_one_warp(q_ptr=values([n % 5 for n in range(2048)], f16), g_ptr=values([n % 7 for n in range(2048)], f32), b_ptr=values([n % 3 for n in range(2048)], f32),
#     row_ptr=values([k % 4 for k in range(128)], f32), out_ptr=zeros(512,f32), T=128)
#     -> out_ptr == [sum([(i % 256 // 16 * 128 + k) % 5 * ((i % 256 // 16 * 128 + k) % 7 - k % 4) * ((i % 16 * 128 + k) % 3 * 2 if i < 256 else (i % 16 * 128 + k) % 3 + k % 4) for k in range(128)]) for i in range(512)]
# expect: by_four_warps(q_ptr=values([n % 5 for n in range(2048)], f16), g_ptr=values([n % 7 for n in range(2048)], f32), b_ptr=values([n % 3 for n in range(2048)], f32),
#     row_ptr=values([k % 4 for k in range(128)], f32), out_ptr=zeros(512,f32), T=128)
#     -> out_ptr == [sum([(i % 256 // 16 * 128 + k) % 5 * ((i % 256 // 16 * 128 + k) % 7 - k % 4) * ((i % 16 * 128 + k) % 3 * 2 if i < 256 else (i % 16 * 128 + k) % 3 + k % 4) for k in range(128)]) for i in range(512)]
# expect: turned(q_ptr=values([n % 5 for n in range(8192)], f16), b_ptr=values([n % 7 for n in range(4096)], f16), row_ptr=values([k % 4 for k in range(128)], f32), out_ptr=zeros(2048,f32), T=128)
#     -> out_ptr == [sum([(i // 32 + k * 64) % 5 * (k % 4) * ((i % 32 + k * 32) % 7) for k in range(128)]) for i in range(2048)]
