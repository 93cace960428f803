# nereid: compile %s:kernel --signature "*fp32, i32, i32" --emit tile
import triton
import triton.language as tl


@triton.jit
def kernel(p, m, n):
    d = tl.make_tensor_descriptor(p, shape=[m, n], strides=[1, n], block_shape=[16, 16])  # error: .:9 DescriptorStride the last stride
    d.store([0, 0], d.load([0, 0]))
# hint: `1`
