# check: rms_norm[1](x=zeros(1x16,f32), y=empty(1x16,f32), epsilon=0.0, N=16)
# check: rms_norm[1](x=zeros(1x16,f32), y=empty(1x16,f32), epsilon=1e-6, N=16) -> clean
# Without an epsilon a row of zeros is 0 * inf.
import triton
import triton.language as tl


@triton.jit
def rms_norm(x, y, epsilon, N: tl.constexpr):
    i = tl.arange(0, N)
    row = tl.program_id(0)
    value = tl.load(x + row * N + i)
    rrms = tl.rsqrt(tl.sum(value * value, axis=0) / N + epsilon)
    tl.store(y + row * N + i, value * rrms)  # fault: . NotANumber
