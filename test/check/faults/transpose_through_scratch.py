# check: transpose[1](x=randn(16x16,f32), scratch=empty(16x16,f32), y=empty(16x16,f32), B=16)
import triton
import triton.language as tl


@triton.jit
def transpose(x, scratch, y, B: tl.constexpr):
    i = tl.arange(0, B)
    row_major = i[:, None] * B + i[None, :]
    column_major = i[None, :] * B + i[:, None]
    tl.store(scratch + row_major, tl.load(x + row_major))
    tile = tl.load(scratch + column_major)  # fault: . MissingBarrier `scratch`
    tl.store(y + row_major, tile)
