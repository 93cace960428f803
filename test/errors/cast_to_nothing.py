# nereid: compile %s:kernel --signature "*fp32" --emit tile
import triton
import triton.language as tl


@triton.jit
def kernel(p):
    x = tl.load(p).to(7)  # error: .:9 WrongArgument must be a type such as `tl.float32`
    tl.store(p, x)
