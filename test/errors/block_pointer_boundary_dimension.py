# nereid: compile %s:kernel --signature "*fp32" --emit tile
import triton
import triton.language as tl


@triton.jit
def kernel(p):
    b = tl.make_block_ptr(p, shape=(64,), strides=(1,), offsets=(0,), block_shape=(16,), order=(0,))
    x = tl.load(b, boundary_check=(1,))  # error: .:9 AxisOutOfRange `boundary_check` names dimension 1
    tl.store(b, x)
