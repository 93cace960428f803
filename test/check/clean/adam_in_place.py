# check: adam[2](p=randn(50,f32), g=randn(50,f32), m=zeros(50,f32), v=zeros(50,f32), n=50, lr=0.001, b1=0.9, b2=0.999, epsilon=1e-8, BLOCK=32)
import triton
import triton.language as tl


@triton.jit
def adam(p, g, m, v, n, lr, b1, b2, epsilon, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = i < n
    grad = tl.load(g + i, mask=mask, other=0.0)
    first = b1 * tl.load(m + i, mask=mask, other=0.0) + (1 - b1) * grad
    second = b2 * tl.load(v + i, mask=mask, other=0.0) + (1 - b2) * grad * grad
    tl.store(m + i, first, mask=mask)
    tl.store(v + i, second, mask=mask)
    tl.store(p + i, tl.load(p + i, mask=mask) - lr * first / (tl.sqrt(second) + epsilon), mask=mask)
