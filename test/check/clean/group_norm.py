# check: group_norm[2, 2](x=randn(2x4x8,f32), y=empty(2x4x8,f32), C=4, L=8, PER=2, epsilon=1e-5, BLOCK=16)
import triton
import triton.language as tl


@triton.jit
def group_norm(x, y, C, L, PER, epsilon, BLOCK: tl.constexpr):
    base = tl.program_id(0) * C * L + tl.program_id(1) * PER * L
    i = tl.arange(0, BLOCK)
    count = PER * L
    value = tl.load(x + base + i, mask=i < count, other=0.0)
    mean = tl.sum(value, axis=0) / count
    centred = tl.where(i < count, value - mean, 0.0)
    tl.store(y + base + i, centred * tl.rsqrt(tl.sum(centred * centred, axis=0) / count + epsilon), mask=i < count)
