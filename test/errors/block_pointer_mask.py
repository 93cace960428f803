# nereid: compile %s:kernel --signature "*fp32" --emit tile
import triton
import triton.language as tl


@triton.jit
def kernel(p):
    b = tl.make_block_ptr(p, shape=(64,), strides=(1,), offsets=(0,), block_shape=(16,), order=(0,))
    x = tl.load(b, mask=tl.arange(0, 16) < 4)  # error: .:9 WrongArgument are not for block pointers
    tl.store(b, x)
# hint: boundary_check
