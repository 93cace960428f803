# nereid: compile %s:kernel --signature "*fp32, i32, i32" --emit tile
import triton
import triton.language as tl


@triton.jit
def kernel(p, m, n):
    d = tl.make_tensor_descriptor(p, shape=[m, n], strides=[n, 1], block_shape=[16, 16])
    d.store([0, 0], d.load([0]))  # error: .:21 WrongArgument `offsets` has 1 entries for a descriptor of rank 2
