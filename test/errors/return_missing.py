# nereid: compile %s:kernel --signature "*fp32, i32" --emit tile
import triton
import triton.language as tl


@triton.jit
def pick(n):
    if n > 3:
        return 1.0  # error: .:9 MissingReturn `pick` returns a value on some run-time paths only


@triton.jit
def kernel(p, n):
    tl.store(p, pick(n))  # note: .:17 - in `pick`, called here
# hint: end the function with a `return`
