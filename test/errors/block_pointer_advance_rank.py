# nereid: compile %s:kernel --signature "*fp32" --emit tile
import triton
import triton.language as tl


@triton.jit
def kernel(p):
    b = tl.make_block_ptr(p, shape=(64,), strides=(1,), offsets=(0,), block_shape=(16,), order=(0,))
    b = tl.advance(b, (16, 0))  # error: .:9 WrongArgument `offsets` has 2 entries for a block of rank 1
    tl.store(b, tl.load(b))
