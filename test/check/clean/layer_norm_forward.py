# check: layer_norm[3](x=randn(3x48,f16), w=rand(48,f32), b=rand(48,f32), y=empty(3x48,f16), mean=empty(3,f32), rstd=empty(3,f32), N=48, epsilon=1e-5, BLOCK=64)
import triton
import triton.language as tl


@triton.jit
def layer_norm(x, w, b, y, mean, rstd, N, epsilon, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    mask = i < N
    value = tl.load(x + row * N + i, mask=mask, other=0.0).to(tl.float32)
    average = tl.sum(value, axis=0) / N
    centred = tl.where(mask, value - average, 0.0)
    r = 1 / tl.sqrt(tl.sum(centred * centred, axis=0) / N + epsilon)
    tl.store(mean + row, average)
    tl.store(rstd + row, r)
    out = centred * r * tl.load(w + i, mask=mask) + tl.load(b + i, mask=mask)
    tl.store(y + row * N + i, out.to(tl.float16), mask=mask)
