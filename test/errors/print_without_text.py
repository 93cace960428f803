# nereid: compile %s:kernel --signature "*fp32" --emit tile
import triton
import triton.language as tl


@triton.jit
def kernel(p):
    print(tl.load(p))  # error: .:5 WrongArgument `prefix` must be a string
