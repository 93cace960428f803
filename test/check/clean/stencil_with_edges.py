# check: blur[2](x=randn(40,f32), y=empty(40,f32), n=40, BLOCK=32)
import triton
import triton.language as tl


@triton.jit
def blur(x, y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    left = tl.load(x + i - 1, mask=(i > 0) & (i < n), other=0.0)
    right = tl.load(x + i + 1, mask=i + 1 < n, other=0.0)
    tl.store(y + i, (left + tl.load(x + i, mask=i < n) + right) / 3, mask=i < n)
