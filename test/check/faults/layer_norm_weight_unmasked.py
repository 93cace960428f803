# check: layer_norm[2](x=randn(2x48,f32), w=rand(48,f32), b=rand(48,f32), y=empty(2x48,f32), N=48, epsilon=1e-5, BLOCK=64)
import triton
import triton.language as tl


@triton.jit
def layer_norm(x, w, b, y, N, epsilon, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    columns = tl.arange(0, BLOCK)
    mask = columns < N
    value = tl.load(x + row * N + columns, mask=mask, other=0.0)
    mean = tl.sum(value, axis=0) / N
    centred = tl.where(mask, value - mean, 0.0)
    rstd = 1 / tl.sqrt(tl.sum(centred * centred, axis=0) / N + epsilon)
    scale = tl.load(w + columns)  # fault: . OutOfBounds `w`
    shift = tl.load(b + columns, mask=mask)
    tl.store(y + row * N + columns, centred * rstd * scale + shift, mask=mask)
