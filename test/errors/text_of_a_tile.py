# nereid: compile %s:kernel --signature "i32" --emit tile
import triton
import triton.language as tl


@triton.jit
def kernel(n):
    tl.device_print(f"n is {n}")  # error: .:28 NotConstexpr a text is made while compiling, but `n` is known at run time only
# hint: `tl.device_print("n", n)`
