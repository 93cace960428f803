# check: prefix[1](x=randn(100,f32), y=empty(100,f32), n=100, BLOCK=32)
import triton
import triton.language as tl


@triton.jit
def prefix(x, y, n, BLOCK: tl.constexpr):
    carry = 0.0
    for start in range(0, n, BLOCK):
        i = start + tl.arange(0, BLOCK)
        value = tl.load(x + i, mask=i < n, other=0.0)
        tl.store(y + i, carry + tl.cumsum(value, axis=0), mask=i < n)
        carry += tl.sum(value, axis=0)
