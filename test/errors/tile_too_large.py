# nereid: compile %s:kernel --signature "*fp32" --emit tile
import triton
import triton.language as tl


@triton.jit
def kernel(p):
    acc = tl.zeros([2097152, 4], tl.float32)  # error: .:11 TileTooLarge elements
    tl.store(p, tl.sum(tl.sum(acc, 0), 0))
# hint: smaller block
