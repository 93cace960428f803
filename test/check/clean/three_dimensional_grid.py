# check: permute[2, 3, 4](x=randn(2x3x4x8,f32), y=empty(4x3x2x8,f32), A=2, B=3, C=4, N=8)
import triton
import triton.language as tl


@triton.jit
def permute(x, y, A, B, C, N: tl.constexpr):
    a = tl.program_id(0)
    b = tl.program_id(1)
    c = tl.program_id(2)
    i = tl.arange(0, N)
    tl.store(y + ((c * B + b) * A + a) * N + i, tl.load(x + ((a * B + b) * C + c) * N + i))
