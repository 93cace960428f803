import triton
import triton.language as tl


@triton.jit
def transpose(x, y, M, N, stride_x, stride_y, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    j = tl.program_id(1) * B + tl.arange(0, B)
    mask = (i[:, None] < M) & (j[None, :] < N)
    tile = tl.load(x + i[:, None] * stride_x + j[None, :], mask=mask)
    tl.store(y + j[None, :] * stride_y + i[:, None], tile, mask=mask)
