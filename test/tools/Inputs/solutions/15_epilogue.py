import triton
import triton.language as tl


@triton.jit
def linear_relu(a, b, bias, c, N, K, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    j = tl.program_id(1) * B + tl.arange(0, B)
    acc = tl.zeros((B, B), tl.float32)
    for start in range(0, K, B):
        k = start + tl.arange(0, B)
        acc += tl.dot(tl.load(a + i[:, None] * K + k[None, :]), tl.load(b + k[:, None] * N + j[None, :]))
    acc += tl.load(bias + j)[None, :]
    tl.store(c + i[:, None] * N + j[None, :], tl.maximum(acc, 0.0).to(tl.float16))
