# nereid: compile %s:kernel --signature "*fp32" --emit tile
import triton
import triton.language as tl


@triton.jit
def kernel(p):
    tl.store(p, tl.load(p).to('fp16'))  # error: . WrongArgument `dtype` of `.to` must be a type such as `tl.float32`, not the string
# hint: write `tl.float16`
