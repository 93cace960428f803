# check: swiglu[3](x=randn(3x40,f16), y=empty(3x20,f16), N=20, BLOCK=32)
import triton
import triton.language as tl


@triton.jit
def swiglu(x, y, N, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    a = tl.load(x + row * 2 * N + i, mask=i < N, other=0.0).to(tl.float32)
    b = tl.load(x + row * 2 * N + N + i, mask=i < N, other=0.0).to(tl.float32)
    tl.store(y + row * N + i, (a * tl.sigmoid(a) * b).to(tl.float16), mask=i < N)
