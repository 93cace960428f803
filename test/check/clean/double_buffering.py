# check: diffuse[1](a=randn(32,f32), b=empty(32,f32), steps=4, N=32)
# Two buffers change roles after each step.
import triton
import triton.language as tl


@triton.jit
def diffuse(a, b, steps, N: tl.constexpr):
    i = tl.arange(0, N)
    for step in range(0, steps):
        even = step % 2 == 0
        left = tl.where(i > 0, i - 1, 0)
        right = tl.where(i < N - 1, i + 1, N - 1)
        if even:
            value = (tl.load(a + left) + tl.load(a + right)) * 0.5
            tl.store(b + i, value)
        else:
            value = (tl.load(b + left) + tl.load(b + right)) * 0.5
            tl.store(a + i, value)
        tl.debug_barrier()
