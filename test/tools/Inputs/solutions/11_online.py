import triton
import triton.language as tl


@triton.jit
def log_sum_exp(x, out, N, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    m = float("-inf")
    s = 0.0
    for start in range(0, N, BLOCK):
        i = start + tl.arange(0, BLOCK)
        tile = tl.load(x + row * N + i, mask=i < N, other=float("-inf"))
        new = tl.maximum(m, tl.max(tile, axis=0))
        s = s * tl.exp(m - new) + tl.sum(tl.exp(tile - new), axis=0)
        m = new
    tl.store(out + row, m + tl.log(s))
