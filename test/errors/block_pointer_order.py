# nereid: compile %s:kernel --signature "*fp32" --emit tile
import triton
import triton.language as tl


@triton.jit
def kernel(p):
    b = tl.make_block_ptr(p, shape=(64, 64), strides=(64, 1), offsets=(0, 0), block_shape=(16, 16), order=(1, 1))  # error: .:9 NotAPermutation `order`
    tl.store(b, tl.load(b))
# hint: (1, 0)
