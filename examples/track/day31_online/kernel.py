import triton
import triton.language as tl


@triton.jit
def online(s, v, out, lse, N, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    m = -3.4028234663852886e38  # the least f32: the first exp(m - m_new) is 0, and never NaN
    l = 0.0
    acc = 0.0
    for start in range(0, N, BLOCK):
        j = start + tl.arange(0, BLOCK)
        x = tl.load(s + row * N + j, mask=j < N, other=-float("inf"))
        m_new = tl.maximum(m, tl.max(x, axis=0))
        rescale = tl.exp(m - m_new)
        p = tl.exp(x - m_new)
        l = l * rescale + tl.sum(p, axis=0)
        acc = acc * rescale + tl.sum(p * tl.load(v + j, mask=j < N, other=0.0), axis=0)
        m = m_new
    tl.store(out + row, acc / l)
    tl.store(lse + row, m + tl.log(l))
