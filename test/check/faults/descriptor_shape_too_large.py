# check: copy[2](x=randn(24x32,f32), y=empty(32x32,f32), M=24, N=32, B=16)
# A descriptor whose shape is larger than its tensor guards nothing.
import triton
import triton.language as tl


@triton.jit
def copy(x, y, M, N, B: tl.constexpr):
    source = tl.make_tensor_descriptor(x, shape=[M + 8, N], strides=[N, 1], block_shape=[B, 32])
    target = tl.make_tensor_descriptor(y, shape=[M + 8, N], strides=[N, 1], block_shape=[B, 32])
    row = tl.program_id(0) * B
    tile = source.load([row, 0])  # fault: . OutOfBounds `x`
    target.store([row, 0], tile)
