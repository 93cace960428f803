# check: normalise[1](p=zeros(16x16,f32), v=randn(16x16,f32), out=empty(16x16,f32), B=16)
# Nothing was attended to: 0 / 0.
import triton
import triton.language as tl


@triton.jit
def normalise(p, v, out, B: tl.constexpr):
    i = tl.arange(0, B)
    weights = tl.load(p + i[:, None] * B + i[None, :])
    values = tl.load(v + i[:, None] * B + i[None, :])
    total = tl.sum(weights, axis=1)
    acc = tl.dot(weights, values)
    tl.store(out + i[:, None] * B + i[None, :], acc / total[:, None])  # fault: . NotANumber
