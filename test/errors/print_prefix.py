# nereid: compile %s:kernel --signature "*fp32" --emit tile
import triton
import triton.language as tl


@triton.jit
def kernel(p):
    tl.device_print("größe", tl.load(p))  # error: .:5 WrongArgument must be printable ASCII
