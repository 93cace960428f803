# check: add_bias[2](x=randn(32x16,f32), bias=randn(16,f32), y=empty(32x16,f32), B=16)
# All rows load the same elements, and all programs do.
import triton
import triton.language as tl


@triton.jit
def add_bias(x, bias, y, B: tl.constexpr):
    rows = tl.program_id(0) * B + tl.arange(0, B)
    columns = tl.arange(0, B)
    shift = tl.load(bias + rows[:, None] * 0 + columns[None, :])
    at = rows[:, None] * B + columns[None, :]
    tl.store(y + at, tl.load(x + at) + shift)
