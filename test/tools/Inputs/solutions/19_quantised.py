import triton
import triton.language as tl


@triton.jit
def matmul_int8(x, w, scale, y, N, K, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    j = tl.program_id(1) * B + tl.arange(0, B)
    acc = tl.zeros((B, B), tl.float32)
    for start in range(0, K, B):
        k = start + tl.arange(0, B)
        weights = tl.load(w + k[:, None] * N + j[None, :]).to(tl.float16)
        acc += tl.dot(tl.load(x + i[:, None] * K + k[None, :]), weights)
    tl.store(y + i[:, None] * N + j[None, :], acc * tl.load(scale + j)[None, :])
