# check: blur[2](x=randn(32x16,f32), y=empty(32x16,f32), M=32, N=16, B=16)
# Offsets of -1 lie before the first row, which a descriptor allows.
import triton
import triton.language as tl


@triton.jit
def blur(x, y, M, N: tl.constexpr, B: tl.constexpr):
    source = tl.make_tensor_descriptor(x, shape=[M, N], strides=[N, 1], block_shape=[B, N])
    target = tl.make_tensor_descriptor(y, shape=[M, N], strides=[N, 1], block_shape=[B, N])
    row = tl.program_id(0) * B
    target.store([row, 0], source.load([row - 1, 0]) + source.load([row, 0]) + source.load([row + 1, 0]))
