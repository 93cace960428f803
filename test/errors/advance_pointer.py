# nereid: compile %s:kernel --signature "*fp32" --emit tile
import triton
import triton.language as tl


@triton.jit
def kernel(p):
    p = tl.advance(p, (16,))  # error: .:9 WrongArgument `tl.advance` moves a block pointer
    tl.store(p, 0.0)
# hint: +
